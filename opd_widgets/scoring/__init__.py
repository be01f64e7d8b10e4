"""Rollouts and teachers in, scores out."""
