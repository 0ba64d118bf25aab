"""The store in an S3 bucket; the one place that knows boto3."""

from onceward_controller.vault.s3.store import S3Store, connect

__all__ = ["S3Store", "connect"]
