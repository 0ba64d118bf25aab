"""What both sides of the wire agree on; pure."""
