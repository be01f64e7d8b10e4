"""A diagnosis that runs in the background."""
