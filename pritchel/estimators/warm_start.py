"""Whether a fit can go on from another."""

from pritchel.infer.options import Options
from pritchel.posterior.predict import Posterior


def require_same_network(posterior: Posterior, num_features: int, num_targets: int, options: Options) -> None:
    """Raise a ValueError, with the way out, where the options of a fit ask for another network than was fitted."""
    members, known_targets = posterior.members, len(posterior.standardizer.target_mean)
    before = (members[0].guide.widths[0], known_targets, len(members), members[0].offered)
    hidden = members[0].offered if options.grows else options.hidden
    now = (num_features, num_targets, options.num_members, hidden)
    if before != now:
        raise ValueError(
            f"warm_start goes on from a fit with (features, targets, members, hidden) = {before}; this one has "
            f"{now}. Set warm_start=False to start anew."
        )
    model = members[0].model
    before, now = (type(model.prior), model.activation, model.linear), (options.activation, options.linear)
    if before != (type(options.prior), *now) or not options.likelihood.makes(model.likelihood):
        raise ValueError(
            "warm_start goes on with the prior, likelihood, activation and linear path of the fit before it; set "
            "warm_start=False to change them."
        )
