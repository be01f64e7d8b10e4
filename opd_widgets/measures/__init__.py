"""What is computed, each formula once, over the array API: the same lines run on numpy and on torch."""
