"""Runs that show what the method does."""
