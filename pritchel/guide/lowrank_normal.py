"""The matrix normal with diagonal-plus-low-rank rows, shared by the semi-structured and structured families."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.guide.normal import carried_var, project_mean
from pritchel.numerics import LOG_2PI, log_det_diag_plus_low_rank
from pritchel.shapes import AnyArray, BaseWeights, DrawNoiseRows, Inputs, Projections, Scalar, UnitScales


def _log_unit(log_values: Float[AnyArray, " entries"]) -> Float[AnyArray, " entries"]:
    """Logs of positive values divided by their norm."""
    return log_values - 0.5 * jnp.log((jnp.exp(2 * log_values)).sum())


def project_low_rank(
    mean: BaseWeights,
    row_diag: Float[AnyArray, " rows"],
    row_factor: Float[AnyArray, "rows rank"],
    col_diag: UnitScales,
    inputs: Inputs,
    input_var: Inputs | None = None,
) -> tuple[Projections, Projections]:
    r"""Mean and variance of `[inputs, 1] @ weights` for $\mathcal{MN}(M, \Psi + HH^\top, \mathrm{diag}\,v)$ -- Eq. 8."""
    squares = inputs**2 if input_var is None else inputs**2 + input_var
    spread = squares @ row_diag[:-1] + row_diag[-1] + (project_mean(row_factor, inputs) ** 2).sum(-1)
    if input_var is not None:
        spread = spread + input_var @ (row_factor[:-1] ** 2).sum(-1)
    return project_mean(mean, inputs), jnp.tensordot(spread, col_diag, 0) + carried_var(mean, input_var)


class LowRankNormal(eqx.Module):
    r"""$\mathcal{MN}(M, \Psi + HH^\top, \mathrm{diag}\,v)$ over `rows x units`; $\Psi$ diagonal, $H$ `rows x rank`.

    With `unit_rows` the vectors $\Psi$ and $H$, with `unit_cols` $v$, are divided by their norms where they are used,
    which the paper found to predict better: it caps the variance that unused units can add.
    """

    mean: Float[AnyArray, "rows units"]
    raw_log_row_diag: Float[AnyArray, " rows"]
    raw_row_factor: Float[AnyArray, "rows rank"]
    raw_log_col_diag: Float[AnyArray, " units"]
    unit_rows: bool = eqx.field(static=True, default=False)
    unit_cols: bool = eqx.field(static=True, default=False)

    @classmethod
    def start(
        cls, mean: np.ndarray, *, sd: float, rank: int, unit_norm: bool, rng: np.random.Generator
    ) -> "LowRankNormal":
        """Given means; equal variances near `sd` squared, a small random factor."""
        rows, units = mean.shape
        factor = rng.normal(0.0, 0.1 * sd, (rows, rank))
        return cls(
            jnp.asarray(mean),
            jnp.full(rows, 2 * float(np.log(sd))),
            jnp.asarray(factor),
            jnp.zeros(units),
            unit_norm,
            unit_norm,
        )

    @property
    def log_row_diag(self) -> Float[AnyArray, " rows"]:
        r"""$\ln\Psi$."""
        return _log_unit(self.raw_log_row_diag) if self.unit_rows else self.raw_log_row_diag

    @property
    def row_diag(self) -> Float[AnyArray, " rows"]:
        r"""$\Psi$, variances."""
        return jnp.exp(self.log_row_diag)

    @property
    def row_factor(self) -> Float[AnyArray, "rows rank"]:
        r"""$H$."""
        factor = self.raw_row_factor
        return factor / jnp.sqrt((factor**2).sum()) if self.unit_rows else factor

    @property
    def log_col_diag(self) -> UnitScales:
        r"""$\ln v$."""
        return _log_unit(self.raw_log_col_diag) if self.unit_cols else self.raw_log_col_diag

    @property
    def col_diag(self) -> UnitScales:
        r"""$v$, variances."""
        return jnp.exp(self.log_col_diag)

    @property
    def row_var(self) -> Float[AnyArray, " rows"]:
        r"""The diagonal of $\Psi + HH^\top$."""
        return self.row_diag + (self.row_factor**2).sum(-1)

    @property
    def num_shared_noise_rows(self) -> int:
        """One for each column of the factor."""
        return self.raw_row_factor.shape[1]

    def entropy(self) -> Scalar:
        r"""$\frac{mK}{2}\ln 2\pi e + \frac12 (m \ln|V| + K \ln|U|)$ -- appendix, matrix normal entropy."""
        rows, units = self.mean.shape
        row_log_det = log_det_diag_plus_low_rank(self.log_row_diag, self.row_factor)
        return 0.5 * (rows * units * (1 + LOG_2PI) + rows * self.log_col_diag.sum() + units * row_log_det)

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        return (self.mean**2).sum() + self.col_diag.sum() * self.row_var.sum()

    def project_moments(self, inputs: Inputs, input_var: Inputs | None = None) -> tuple[Projections, Projections]:
        """Mean and variance of `[inputs, 1] @ weights`."""
        return project_low_rank(self.mean, self.row_diag, self.row_factor, self.col_diag, inputs, input_var)

    def draw(self, noise: DrawNoiseRows) -> BaseWeights:
        """The matrix that standard normal noise of `rows + rank` rows maps to."""
        rows = self.mean.shape[0]
        rooted = jnp.sqrt(self.row_diag)[:, None] * noise[:rows] + self.row_factor @ noise[rows:]
        return self.mean + rooted * jnp.sqrt(self.col_diag)

    def keep(self, rows: np.ndarray, units: np.ndarray) -> "LowRankNormal":
        """The marginal over some rows and units. Where a part of a unit vector stays, its norm is written out."""
        all_rows, all_units = len(rows) == self.mean.shape[0], len(units) == self.mean.shape[1]
        return LowRankNormal(
            self.mean[np.ix_(rows, units)],
            self.log_row_diag[rows],
            self.row_factor[rows],
            self.log_col_diag[units],
            self.unit_rows and all_rows,
            self.unit_cols and all_units,
        )
