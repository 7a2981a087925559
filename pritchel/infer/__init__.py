"""From a guide to a fitted guide: the evidence lower bound and the one training loop."""
