"""`python -m pritchel`."""

from pritchel.cli import app

app()
