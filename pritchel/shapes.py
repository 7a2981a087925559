"""The shape vocabulary: one name for each kind of array the package passes around."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    import jax

    AnyArray = jax.Array | np.ndarray  # traced or on a device while fitting, numpy once fitted
else:
    AnyArray = Any  # what has a shape and a type; shapes are checked, and JAX is not imported for it

Inputs = Float[AnyArray, "examples fan_in"]
Outputs = Float[AnyArray, "examples outputs"]
Targets = Float[AnyArray, "examples targets"]
Projections = Float[AnyArray, "examples units"]
BaseWeights = Float[AnyArray, "rows units"]
UnitScales = Float[AnyArray, " units"]
DrawNoiseRows = Float[AnyArray, "*draws noise_rows units"]  # for one draw, or for many at once
DrawnWeights = Float[AnyArray, "*draws rows units"]
DrawnScales = Float[AnyArray, "*draws units"]
PseudoNoise = tuple[Float[AnyArray, "pseudo rows"], Float[AnyArray, "pseudo units"]]
Scalar = Float[AnyArray, ""]
OutputScales = Float[AnyArray, "*outputs"]  # one that all outputs share, or one each
