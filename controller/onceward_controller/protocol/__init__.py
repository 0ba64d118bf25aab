"""The pure core: state, decisions, transitions."""
