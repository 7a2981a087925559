"""Generated problems."""

import numpy as np

NOISE_SD = 0.1


def sine(num_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The paper's toy: y = sin(x) + noise, x uniform on [-4, 4]; its "N(0, 0.1)" is read as standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, num_rows)
    return x[:, None], np.sin(x) + NOISE_SD * rng.standard_normal(num_rows)


def growing_noise(x: np.ndarray) -> np.ndarray:
    """The standard deviation of `uneven_sine`: 0.05 at the left end, 0.4 at the right."""
    return 0.05 + 0.35 * (x + 4) / 8


def uneven_sine(num_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """y = sin(x) + noise that grows from left to right, x uniform on [-4, 4]."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, num_rows)
    return x[:, None], np.sin(x) + growing_noise(x) * rng.standard_normal(num_rows)
