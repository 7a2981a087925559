"""Generated problems."""

import numpy as np

NOISE_SD = 0.1


def sine(num_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The paper's toy: y = sin(x) + noise, x uniform on [-4, 4]; its "N(0, 0.1)" is read as standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, num_rows)
    return x[:, None], np.sin(x) + NOISE_SD * rng.standard_normal(num_rows)
