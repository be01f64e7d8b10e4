"""The widgets: what is shown is what was given; nothing here computes a probability."""
