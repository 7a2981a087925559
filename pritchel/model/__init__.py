"""The model p(y, weights, scales): half-Cauchy scales, priors over units, likelihoods, the network."""
