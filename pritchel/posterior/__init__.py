"""What a fitted guide can say: draws, predictions, pruning, diagnostics."""
