"""Figures and tables: results in, files out; nothing here trains."""
