"""Fixtures that every folder of tests may ask for."""

from tests.support.s3_server import s3_prefix, s3_server

__all__ = ["s3_prefix", "s3_server"]
