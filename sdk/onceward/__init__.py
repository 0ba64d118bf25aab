"""Onceward's SDK: what an agent installs."""
