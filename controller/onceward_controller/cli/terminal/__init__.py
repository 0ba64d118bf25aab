"""What a person sees, and how it is made safe to look at."""
