"""Encrypted state as immutable, numbered objects in a store."""
