"""What a diagnosis found, as tables and in words."""
