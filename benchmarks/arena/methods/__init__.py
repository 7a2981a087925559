"""One file a method; each lists its contestants as METHODS and imports its package only when it fits."""
