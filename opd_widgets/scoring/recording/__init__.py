"""Runs written while a student is trained."""
