"""MC dropout (Gal and Ghahramani 2016): units off at random in prediction too; rate and noise by held-out rows."""

import numpy as np
from prediction import Fitted, Method, Prediction, num_bytes, of_mixtures
from scipy.special import logsumexp

RATES = (0.005, 0.01, 0.05, 0.1)  # the authors' grid
PASSES = 200


def numbers(X: np.ndarray, y: np.ndarray, seed: int) -> Fitted:
    import jax
    from plain_network import Standardized, outputs, train

    data = Standardized.of(X, y)
    keys = jax.random.split(jax.random.key(seed), PASSES)

    def passes(params: list, inputs: np.ndarray, rate: float) -> np.ndarray:
        run = jax.jit(jax.vmap(lambda key: outputs(params, inputs, rate, key)[:, 0]))
        return np.asarray(run(keys), float)

    def score(params: list, held: np.ndarray, rate: float) -> tuple[float, float]:
        """The best noise for held-out rows, and their log-likelihood with it."""
        means, grid = passes(params, data.X[held], rate), np.geomspace(0.02, 1.5, 40)
        error = (data.y[held] - means)[None]
        logs = -0.5 * (error / grid[:, None, None]) ** 2 - np.log(grid)[:, None, None]
        total = (logsumexp(logs, axis=1) - np.log(PASSES)).mean(1)
        return float(grid[total.argmax()]), float(total.max())

    tried = []
    for rate in RATES:
        params, _, held = train(data, seed, is_normal=False, dropout=rate)
        noise, value = score(params, held, rate)
        tried.append((value, rate, noise, params))
    _, rate, noise, params = max(tried, key=lambda own: own[0])

    def predict(test_X: np.ndarray) -> Prediction:
        means = passes(params, data.inputs(test_X), rate)
        return of_mixtures(data.mean + data.sd * means, np.full_like(means, data.sd * noise))

    return Fitted(predict, num_bytes(params))


ABOUT = "one network of 100 + 100, 200 passes; dropout rate and noise by a tenth of the rows held out"
METHODS = [Method("MC dropout", ABOUT, numbers, packages=("jax", "optax"), num_splits=1)]
