"""Places where an effect can be made once and looked up afterwards."""

from onceward.destinations.directory import DirectoryPublisher
from onceward.destinations.published import (
    DifferentDocumentError,
    Published,
    UnsafeDirectoryError,
)

__all__ = ["DifferentDocumentError", "DirectoryPublisher", "Published", "UnsafeDirectoryError"]
