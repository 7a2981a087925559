"""The shape vocabulary: one name for each kind of array the package passes around."""

import jax
import numpy as np
from jaxtyping import Float

AnyArray = jax.Array | np.ndarray  # traced or on a device while fitting, numpy once fitted

Inputs = Float[AnyArray, "examples fan_in"]
Outputs = Float[AnyArray, "examples outputs"]
Targets = Float[AnyArray, "examples targets"]
Projections = Float[AnyArray, "examples units"]
BaseWeights = Float[AnyArray, "rows units"]
DrawNoiseRows = Float[AnyArray, "noise_rows units"]
UnitScales = Float[AnyArray, " units"]
PseudoNoise = tuple[Float[AnyArray, "pseudo rows"], Float[AnyArray, "pseudo units"]]
Scalar = Float[AnyArray, ""]
