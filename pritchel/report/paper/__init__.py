"""Figures of the paper's regression experiments, drawn from their records."""
