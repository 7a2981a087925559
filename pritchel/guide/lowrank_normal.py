"""The matrix normal with diagonal-plus-low-rank rows, shared by the semi-structured and structured families."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.guide.normal import carried_var, project_mean
from pritchel.numerics import LOG_2PI, log_det_diag_plus_low_rank
from pritchel.shapes import AnyArray, BaseWeights, DrawNoiseRows, Inputs, Projections, Scalar, UnitScales


def _unit(values: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    return values / jnp.sqrt((values**2).sum())


class LowRankNormal(eqx.Module):
    r"""$\mathcal{MN}(M, \Psi + HH^\top, \mathrm{diag}\,v)$ over `rows x units`; $\Psi$ diagonal, $H$ `rows x rank`.

    With `unit_norm`, the vectors $\Psi$, $H$ and $v$ are divided by their norms where they are used, which the
    paper found to predict better: it caps the variance that unused units can add.
    """

    mean: Float[AnyArray, "rows units"]
    log_row_diag: Float[AnyArray, " rows"]
    raw_row_factor: Float[AnyArray, "rows rank"]
    log_col_diag: Float[AnyArray, " units"]
    unit_norm: bool = eqx.field(static=True, default=False)

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
        )

    @property
    def row_diag(self) -> Float[AnyArray, " rows"]:
        r"""$\Psi$, variances."""
        diag = jnp.exp(self.log_row_diag)
        return _unit(diag) if self.unit_norm else diag

    @property
    def row_factor(self) -> Float[AnyArray, "rows rank"]:
        r"""$H$."""
        return _unit(self.raw_row_factor) if self.unit_norm else self.raw_row_factor

    @property
    def col_diag(self) -> UnitScales:
        r"""$v$, variances."""
        diag = jnp.exp(self.log_col_diag)
        return _unit(diag) if self.unit_norm else diag

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
        log_det = rows * jnp.log(self.col_diag).sum() + units * log_det_diag_plus_low_rank(
            self.row_diag, self.row_factor
        )
        return 0.5 * (rows * units * (1 + LOG_2PI) + log_det)

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        return (self.mean**2).sum() + self.col_diag.sum() * self.row_var.sum()

    def project_moments(self, inputs: Inputs, input_var: Inputs | None = None) -> tuple[Projections, Projections]:
        """Mean and variance of `[inputs, 1] @ weights`: two inner products an example -- Eq. 8."""
        diag, factor = self.row_diag, self.row_factor
        squares = inputs**2 if input_var is None else inputs**2 + input_var
        spread = squares @ diag[:-1] + diag[-1] + (project_mean(factor, inputs) ** 2).sum(-1)
        if input_var is not None:
            spread = spread + input_var @ (factor[:-1] ** 2).sum(-1)
        return project_mean(self.mean, inputs), spread[:, None] * self.col_diag + carried_var(self.mean, input_var)

    def draw(self, noise: DrawNoiseRows) -> BaseWeights:
        """The matrix that standard normal noise of `rows + rank` rows maps to."""
        rows = self.mean.shape[0]
        rooted = jnp.sqrt(self.row_diag)[:, None] * noise[:rows] + self.row_factor @ noise[rows:]
        return self.mean + rooted * jnp.sqrt(self.col_diag)

    def given_last_row(self) -> tuple["LowRankNormal", Float[AnyArray, " rows_but_one"]]:
        r"""The other rows given the last one: a matrix normal whose mean moves by `slope` a unit of the last row.

        $M_{\beta\mid\nu} = M_\beta + \text{slope}\,(\nu - m_\nu)^\top$ and
        $U_{\beta\mid\nu} = \Psi_\beta + H_\beta (I - gg^\top) H_\beta^\top$ with $g = h_\nu / \sqrt u$,
        $u = \Psi_\nu + |h_\nu|^2$ -- Eq. A.1, for any rank. The inner matrix has the root
        $I - gg^\top / (1 + \sqrt{1 - |g|^2})$.
        """
        diag, factor = self.row_diag, self.row_factor
        total = diag[-1] + (factor[-1] ** 2).sum()
        slope = factor[:-1] @ factor[-1] / total
        unit = factor[-1] / jnp.sqrt(total)
        along = factor[:-1] @ unit
        shrunk = factor[:-1] - jnp.outer(along, unit) / (1 + jnp.sqrt(diag[-1] / total))
        rest = LowRankNormal(self.mean[:-1], jnp.log(diag[:-1]), shrunk, jnp.log(self.col_diag))
        return rest, slope

    def keep(self, rows: np.ndarray, units: np.ndarray) -> "LowRankNormal":
        """The marginal over some rows and units. Norms are written out: the parts of a unit vector have none."""
        return LowRankNormal(
            self.mean[np.ix_(rows, units)],
            jnp.log(self.row_diag)[rows],
            self.row_factor[rows],
            jnp.log(self.col_diag)[units],
        )
