"""One module for each system that is measured; each runs alone in a process of its own."""
