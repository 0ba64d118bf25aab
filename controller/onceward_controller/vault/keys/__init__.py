"""Every key of a vault: what opens it, what derives from it, what is sealed under what."""
