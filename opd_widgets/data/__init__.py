"""What a rollout is: frozen records, display cells, readers."""
