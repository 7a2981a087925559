"""The matrix normal with diagonal-plus-low-rank rows, shared by the semi-structured and structured families."""

import numpy as np
from jaxtyping import Float

from pritchel.guide.normal import carried_var, project_mean
from pritchel.numerics import LOG_2PI, Outer, as_parameter, held_fixed, log_det_diag_plus_low_rank, space_of
from pritchel.shapes import AnyArray, DrawNoiseRows, DrawnWeights, Inputs, Projections, Scalar, UnitScales
from pritchel.tree import Tree, static

Counts = Float[AnyArray, " entries"] | None


def _total(values: Float[AnyArray, " entries"], counts: Counts) -> Scalar:
    """The sum, each entry taken as often as it counts."""
    return values.sum() if counts is None else values @ counts


def _log_unit(log_values: Float[AnyArray, " entries"], counts: Counts) -> Float[AnyArray, " entries"]:
    """Logs of positive values divided by their norm."""
    space = space_of(log_values)
    return log_values - 0.5 * space.log(_total(space.exp(2 * log_values), counts))


class LowRankNormal(Tree):
    r"""$\mathcal{MN}(M, \Psi + HH^\top, \mathrm{diag}\,v)$ over `rows x units`; $\Psi$ diagonal, $H$ `rows x rank`.

    With `unit_rows` the vectors $\Psi$ and $H$, with `unit_cols` $v$, are divided by their norms where they are used,
    which the paper found to predict better: it caps the variance that unused units can add.

    A row or a column may stand for several alike (`row_counts`, `col_counts`; None: each for itself), whose entropy,
    squares and share of the norms it then brings in. That is how dead units can leave a fit without changing it.
    """

    mean: Float[AnyArray, "rows units"]
    raw_log_row_diag: Float[AnyArray, " rows"]
    raw_row_factor: Float[AnyArray, "rows rank"]
    raw_log_col_diag: Float[AnyArray, " units"]
    raw_row_counts: Float[AnyArray, " rows"] | None = None
    raw_col_counts: Float[AnyArray, " units"] | None = None
    unit_rows: bool = static(default=False)
    unit_cols: bool = static(default=False)

    @classmethod
    def start(
        cls, mean: np.ndarray, *, sd: float | np.ndarray, rank: int, unit_norm: bool, rng: np.random.Generator
    ) -> "LowRankNormal":
        """Given means; variances near `sd` squared, one for all rows or one each, a small random factor."""
        rows, units = mean.shape
        sds = np.broadcast_to(sd, rows)
        factor = rng.normal(0.0, 0.1 * sds[:, None], (rows, rank))
        return cls(
            *map(as_parameter, (mean, 2 * np.log(sds), factor, np.zeros(units))),
            unit_rows=unit_norm,
            unit_cols=unit_norm,
        )

    @property
    def log_row_diag(self) -> Float[AnyArray, " rows"]:
        r"""$\ln\Psi$."""
        return _log_unit(self.raw_log_row_diag, self.row_counts) if self.unit_rows else self.raw_log_row_diag

    @property
    def row_diag(self) -> Float[AnyArray, " rows"]:
        r"""$\Psi$, variances."""
        return space_of(self.mean).exp(self.log_row_diag)

    @property
    def row_factor(self) -> Float[AnyArray, "rows rank"]:
        r"""$H$."""
        factor = self.raw_row_factor
        if not self.unit_rows:
            return factor
        return factor / space_of(factor).sqrt(_total((factor**2).sum(-1), self.row_counts))

    @property
    def log_col_diag(self) -> UnitScales:
        r"""$\ln v$."""
        return _log_unit(self.raw_log_col_diag, self.col_counts) if self.unit_cols else self.raw_log_col_diag

    @property
    def col_diag(self) -> UnitScales:
        r"""$v$, variances."""
        return space_of(self.mean).exp(self.log_col_diag)

    @property
    def row_var(self) -> Float[AnyArray, " rows"]:
        r"""The diagonal of $\Psi + HH^\top$."""
        return self.row_diag + (self.row_factor**2).sum(-1)

    @property
    def row_counts(self) -> Float[AnyArray, " rows"] | None:
        """How many rows each stands for: fixed, whatever trains the rest."""
        return held_fixed(self.raw_row_counts)

    @property
    def col_counts(self) -> UnitScales | None:
        """How many columns each stands for."""
        return held_fixed(self.raw_col_counts)

    @property
    def num_rows(self) -> Scalar | int:
        """Rows, each as often as it counts."""
        return self.mean.shape[0] if self.row_counts is None else self.row_counts.sum()

    @property
    def num_units(self) -> Scalar | int:
        """Columns, each as often as it counts."""
        return self.mean.shape[1] if self.col_counts is None else self.col_counts.sum()

    def but_last_row(self) -> "LowRankNormal":
        """The marginal of the other rows, norms written out."""
        counts = None if self.row_counts is None else self.row_counts[:-1]
        diag, factor, cols = self.log_row_diag[:-1], self.row_factor[:-1], self.log_col_diag
        return LowRankNormal(self.mean[:-1], diag, factor, cols, counts, self.col_counts)

    @property
    def num_shared_noise_rows(self) -> int:
        """One for each column of the factor."""
        return self.raw_row_factor.shape[1]

    def entropy(self) -> Scalar:
        r"""$\frac{mK}{2}\ln 2\pi e + \frac12 (m \ln|V| + K \ln|U|)$ -- appendix, matrix normal entropy."""
        rows, units = self.num_rows, self.num_units
        row_log_det = log_det_diag_plus_low_rank(self.log_row_diag, self.row_factor, self.row_counts)
        col_log_det = _total(self.log_col_diag, self.col_counts)
        return 0.5 * (rows * units * (1 + LOG_2PI) + rows * col_log_det + units * row_log_det)

    def expected_sq_sum(self) -> Scalar:
        """E of the sum of squares."""
        means = self.mean**2 if self.row_counts is None else self.row_counts[:, None] * self.mean**2
        var = _total(self.col_diag, self.col_counts) * _total(self.row_var, self.row_counts)
        return _total(means.sum(0), self.col_counts) + var

    def project_moments(
        self, inputs: Inputs, input_var: Inputs | None = None
    ) -> tuple[Projections, Projections | Outer]:
        """Mean and variance of `[inputs, 1] @ weights`: two inner products an example -- Eq. 8."""
        diag, factor = self.row_diag, self.row_factor
        squares = inputs**2 if input_var is None else inputs**2 + input_var
        spread = squares @ diag[:-1] + diag[-1] + (project_mean(factor, inputs) ** 2).sum(-1)
        mean = project_mean(self.mean, inputs)
        if input_var is None:
            return mean, Outer(spread, self.col_diag)
        spread = spread + input_var @ (factor[:-1] ** 2).sum(-1)
        return mean, Outer(spread, self.col_diag).full() + carried_var(self.mean, input_var)

    def draw(self, noise: DrawNoiseRows) -> DrawnWeights:
        """The matrix that standard normal noise of `rows + rank` rows maps to."""
        rows, sqrt = self.mean.shape[0], space_of(self.mean).sqrt
        own, shared = noise[..., :rows, :], noise[..., rows:, :]
        rooted = sqrt(self.row_diag)[:, None] * own + self.row_factor @ shared
        return self.mean + rooted * sqrt(self.col_diag)

    def take(self, rows: np.ndarray, units: np.ndarray) -> "LowRankNormal":
        """The entries of some rows and units, as they stand."""
        return LowRankNormal(
            self.mean[np.ix_(rows, units)],
            self.raw_log_row_diag[rows],
            self.raw_row_factor[rows],
            self.raw_log_col_diag[units],
            None if self.raw_row_counts is None else self.raw_row_counts[rows],
            None if self.raw_col_counts is None else self.raw_col_counts[units],
            self.unit_rows,
            self.unit_cols,
        )

    def count(self, rows: np.ndarray, units: np.ndarray) -> "LowRankNormal":
        """The same entries, each row and unit counting as often as given."""
        raw = (self.mean, self.raw_log_row_diag, self.raw_row_factor, self.raw_log_col_diag)
        return LowRankNormal(*raw, rows, units, self.unit_rows, self.unit_cols)

    def written_out(self) -> "LowRankNormal":
        """The same distribution with no norms or counts that tie its entries together."""
        return LowRankNormal(self.mean, self.log_row_diag, self.row_factor, self.log_col_diag)
