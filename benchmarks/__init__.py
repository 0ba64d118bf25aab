"""What it costs, beside peers measured in the same run. Never part of the tests."""
