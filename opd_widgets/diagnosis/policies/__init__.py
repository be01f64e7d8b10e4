"""Who is diagnosed, as a policy over token ids, and what it says at a node."""
