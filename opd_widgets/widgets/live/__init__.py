"""Live scoring under edited contexts."""
