"""The shape vocabulary: one name for each kind of array the package passes around."""

from jaxtyping import Array, Float

Inputs = Float[Array, "examples fan_in"]
Outputs = Float[Array, "examples outputs"]
Projections = Float[Array, "examples units"]
BaseWeights = Float[Array, "rows units"]
UnitScales = Float[Array, " units"]
Scalar = Float[Array, ""]
