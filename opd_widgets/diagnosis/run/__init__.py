"""A diagnosis under way: what is drawn, in which order, and where it is kept."""
