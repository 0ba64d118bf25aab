"""The controller: engine, vault, HTTP API and operator CLI."""
