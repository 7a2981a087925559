"""Pritchel: Bayesian neural networks that choose their own width."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pritchel.estimators.classifier import HorseshoeClassifier
    from pritchel.estimators.dynamics import DynamicsModel
    from pritchel.estimators.regressor import HorseshoeRegressor
    from pritchel.guide import Family
    from pritchel.infer.options import Sampling, Training
    from pritchel.infer.trial import Progress
    from pritchel.model.likelihoods.adaptive import AdaptiveNoise
    from pritchel.model.likelihoods.categorical import Categorical
    from pritchel.model.likelihoods.gaussian import Gaussian
    from pritchel.model.likelihoods.heteroscedastic import Heteroscedastic
    from pritchel.model.likelihoods.mixture import Mixture
    from pritchel.model.likelihoods.negative_binomial import NegativeBinomial
    from pritchel.model.likelihoods.poisson import Poisson
    from pritchel.model.likelihoods.student_t import StudentT
    from pritchel.model.likelihoods.zero_inflated import ZeroInflated
    from pritchel.model.priors.gaussian import GaussianPrior
    from pritchel.model.priors.horseshoe import Horseshoe
    from pritchel.model.priors.regularized_horseshoe import RegularizedHorseshoe
    from pritchel.model.priors.spike_slab import SpikeSlab
    from pritchel.posterior.calibration import Calibration
    from pritchel.posterior.convergence import SamplingReport
    from pritchel.posterior.diagnostics import CollapseWarning, FitWarning
    from pritchel.posterior.noise import NoiseReport
    from pritchel.serial import FileError
    from pritchel.tables.fit_groups import fit_groups
    from pritchel.tables.groups import GroupedModel
    from pritchel.tables.load import load
    from pritchel.tables.messages import TableError
    from pritchel.tables.model import TableModel

__version__ = "0.2.0"

# The home of each public name. JAX and scikit-learn are imported on first use, so that `import pritchel` and
# `pritchel --help` are instant.
_HOMES = {
    "HorseshoeRegressor": "estimators.regressor",
    "HorseshoeClassifier": "estimators.classifier",
    "DynamicsModel": "estimators.dynamics",
    "TableModel": "tables.model",
    "GroupedModel": "tables.groups",
    "fit_groups": "tables.fit_groups",
    "load": "tables.load",
    "RegularizedHorseshoe": "model.priors.regularized_horseshoe",
    "Horseshoe": "model.priors.horseshoe",
    "SpikeSlab": "model.priors.spike_slab",
    "GaussianPrior": "model.priors.gaussian",
    "AdaptiveNoise": "model.likelihoods.adaptive",
    "Gaussian": "model.likelihoods.gaussian",
    "StudentT": "model.likelihoods.student_t",
    "Heteroscedastic": "model.likelihoods.heteroscedastic",
    "Mixture": "model.likelihoods.mixture",
    "Poisson": "model.likelihoods.poisson",
    "NegativeBinomial": "model.likelihoods.negative_binomial",
    "ZeroInflated": "model.likelihoods.zero_inflated",
    "Categorical": "model.likelihoods.categorical",
    "Family": "guide",
    "Training": "infer.options",
    "Sampling": "infer.options",
    "Calibration": "posterior.calibration",
    "SamplingReport": "posterior.convergence",
    "NoiseReport": "posterior.noise",
    "Progress": "infer.trial",
    "CollapseWarning": "posterior.diagnostics",
    "FitWarning": "posterior.diagnostics",
    "FileError": "serial",
    "TableError": "tables.messages",
}

__all__ = [
    "AdaptiveNoise",
    "Calibration",
    "Categorical",
    "CollapseWarning",
    "DynamicsModel",
    "Family",
    "FileError",
    "FitWarning",
    "Gaussian",
    "GaussianPrior",
    "GroupedModel",
    "Heteroscedastic",
    "Horseshoe",
    "HorseshoeClassifier",
    "HorseshoeRegressor",
    "Mixture",
    "NegativeBinomial",
    "NoiseReport",
    "Poisson",
    "Progress",
    "RegularizedHorseshoe",
    "Sampling",
    "SamplingReport",
    "SpikeSlab",
    "StudentT",
    "TableError",
    "TableModel",
    "Training",
    "ZeroInflated",
    "fit_groups",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"pritchel.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pritchel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
