"""A source of batches that has been read once: what a fit must know of it before it begins."""

import dataclasses
from typing import Any

import numpy as np

from pritchel import checks
from pritchel.data.dataset import Standardizer
from pritchel.data.parts import SourceError
from pritchel.data.scan import Scan, scan
from pritchel.data.stream import Stream
from pritchel.estimators.batches import Batches, CheckedBatches, open_batches
from pritchel.estimators.progress import reading_display
from pritchel.infer.options import Options
from pritchel.model.likelihoods import Likelihood


class ScannedBatches:
    """Checked batches, and what one pass over them has told."""

    def __init__(self, batches: CheckedBatches, found: Scan, aside: float = 0.0):
        self.batches, self.found, self.aside = batches, found, aside
        self.names = batches.names
        self.is_single_target = batches.is_single_target
        self.num_features, self.num_targets = len(found.inputs.mean), len(found.targets.mean)

    def without(self, fraction: float) -> "ScannedBatches":
        """The same less a part of the rows, ten thousand at most: those that `Stream.leave_out` takes of all."""
        return ScannedBatches(self.batches, self.found, fraction)

    def stream(
        self,
        standardizer: Standardizer | None = None,
        input_limit: float | None = None,
        buffer: Any = "auto",
        codes: np.ndarray | None = None,
    ) -> Stream:
        """The rows as a fit reads them, standardized by themselves unless told how."""
        own = standardizer or self.found.standardizer(self.batches.kind.standardizes, input_limit)
        made = Stream.of(self.batches, self.found, own, None if buffer == "auto" else int(buffer))
        named = dataclasses.replace(made, codes=codes)
        return named.leave_out(self.aside)[0] if self.aside else named

    def classes(self, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The labels in order, and the place there of each that was met."""
        return self.batches.classes(known)


def scan_batches(X: Any, y: Any, sample_weight: Any, kind: type[Likelihood], progress: Any) -> ScannedBatches:
    """Read a source of rows once, to its end."""
    batches = CheckedBatches(X if isinstance(X, Batches) else open_batches(X, y, sample_weight), kind)
    with reading_display(progress, batches.num_rows) as on_rows:
        found = scan(batches.read(), on_rows)
    if found is None or found.num_rows < 2:
        num = 0 if found is None else found.num_rows
        raise SourceError(f"The source gave {num} row(s) of a positive weight; a fit needs at least two.")
    checks.check_total_weight("sample_weight", np.full(found.num_rows, found.inputs.weight / found.num_rows))
    for name, moments in (("X", found.inputs), ("y", found.targets)):
        checks.check_magnitude(name, np.stack([moments.low, moments.high]))
    return ScannedBatches(batches, found)


def streamed_options(options: Options, estimator: Any) -> Options:
    """The options as they count for batches, or a ValueError for those that need all rows in memory."""
    if options.inference == "sampled":
        raise ValueError(
            "inference='sampled' needs all rows in memory, and these come in batches. Give arrays, or leave "
            "inference='auto', which is variational for batches."
        )
    if options.training.cross_fit:
        raise ValueError("cross_fit needs all rows in memory, and these come in batches. Give arrays, or leave it out.")
    if getattr(estimator, "class_weight", None) is not None:
        raise ValueError("class_weight is for arrays. Give weights with the batches: each is (X, y, weight).")
    return dataclasses.replace(options, inference="variational")
