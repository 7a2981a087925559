"""A campaign of hard use: `make soak` tries each area some thousand times, with seeds that can be tried again."""
