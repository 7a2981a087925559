"""Planning with a learned model: two domains, a double DQN, and the protocol that joins them."""
