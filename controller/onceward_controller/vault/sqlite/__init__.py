"""The store in one SQLite file."""

from onceward_controller.vault.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
