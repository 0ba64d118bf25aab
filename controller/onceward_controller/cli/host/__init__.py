"""Commands for whoever holds the host: making a vault, running a controller, examining both."""
