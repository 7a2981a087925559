"""Arrays in, arrays out: tables ready for training, benchmark tables by name, generated problems."""
