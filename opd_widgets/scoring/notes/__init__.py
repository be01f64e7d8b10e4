"""What a reader of scores must be told beside the numbers."""
