"""The worker processes that run registered tools."""
