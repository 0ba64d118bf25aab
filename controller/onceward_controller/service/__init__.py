"""Commands on workflows: read, decide, create, or read again."""
