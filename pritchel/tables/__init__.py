"""Tables: a data frame in, a fitted model and its answers by row out."""
