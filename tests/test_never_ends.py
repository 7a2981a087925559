"""What once never came to an end, or took ever more memory."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats

from pritchel import programs
from pritchel.infer import run, sample
from pritchel.model.likelihoods.negative_binomial import NegativeBinomialComponents
from pritchel.model.likelihoods.poisson import PoissonComponents
from pritchel.posterior.draws import max_draws
from pritchel.posterior.mixture import mixed_quantile
from tests.conftest import tiny


@pytest.mark.parametrize("rate", [0.3, 40.0, 1e6, 1e15, 1e17, 1e20, 1e60, 1e300, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_of_counts_end_however_large(rate):
    rates = np.full((3, 1, 1), rate)
    for components in (PoissonComponents(rates), NegativeBinomialComponents(rates, np.full((1, 1, 1), 5.0))):
        for level in (0.05, 0.5, 0.95):
            found = mixed_quantile(components, level)
            if isinstance(components, PoissonComponents) and rate < 1e7:
                assert found == stats.poisson.ppf(level, rate)


def test_draws_are_bounded_by_what_they_cost(table):
    assert max_draws((3, 8, 1)) == 10_000
    assert max_draws((10, 1000, 1000, 1)) == 987
    assert max_draws((1000, 10_000, 1000, 1)) == 200
    with pytest.raises(ValueError, match=r"num_draws must be a number at most 10000"):
        tiny(num_draws=100_000).fit(*table)


def test_a_process_that_is_not_the_one_of_the_first_program_is_refused(table, fitted, monkeypatch):
    """As in a fork, whose memory says that another process has run programs. Predictions need none."""
    drawn = fitted.predict(table[0])
    monkeypatch.setattr(programs, "_process", os.getpid() + 1)
    again = fitted.posterior_.replace_members(fitted.posterior_.members)  # whose draws are still to be made
    np.testing.assert_array_equal(again.mean_std(table[0])[0][:, 0], drawn)
    monkeypatch.setattr(run.Run, "next_chunk", lambda *_: pytest.fail("it takes a step"))
    with pytest.raises(RuntimeError, match="spawn"):
        tiny(training__num_steps=5).fit(*table)


@pytest.mark.slow
def test_a_fit_in_a_forked_process_is_refused_with_advice():
    code = """
    import os, sys, warnings
    import numpy as np
    from tests.conftest import tiny
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = tiny(training__num_steps=5).fit(X, X[:, 0])
    if os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    model.predict(X)  # needs no program
    try:
        tiny(training__num_steps=5).fit(X, X[:, 0])
    except RuntimeError as error:
        os._exit(7 if "spawn" in str(error) else 1)
    os._exit(2)
    """
    words = [sys.executable, "-c", textwrap.dedent(code)]
    assert subprocess.run(words, timeout=600, cwd=os.getcwd()).returncode == 7


def test_programs_beyond_a_number_are_forgotten(monkeypatch):
    monkeypatch.setattr(programs, "MAX_PROGRAMS", 2)
    double = programs.compiled()(lambda values: 2 * values)
    sizes = []
    for width in (1, 2, 1, 3, 3, 4):
        programs.keep_few_programs(double, np.zeros(width))
        double(np.zeros(width))
        sizes.append(double._cache_size())
    assert sizes == [1, 2, 2, 1, 1, 2]


@pytest.mark.parametrize("inference", ["variational", "sampled"])
def test_what_compiles_keeps_few_programs(table, monkeypatch, inference):
    """The steps of a fit and its chains ask."""
    asked = set()

    def ask(function, *_):
        asked.add(function)

    for module in (run, sample):
        monkeypatch.setattr(module, "keep_few_programs", ask)
    tiny(training__num_steps=5, num_draws=5, inference=inference).fit(*table).predict(table[0])
    assert asked == ({run.run_chunk} if inference == "variational" else {run.run_chunk, sample.run_chunk})


@pytest.mark.slow
def test_programs_of_many_widths_do_not_pile_up(monkeypatch):
    from pritchel.infer.step import run_chunk

    monkeypatch.setattr(programs, "MAX_PROGRAMS", 2)
    rng = np.random.default_rng(0)
    fits = {}
    for width in (2, 3, 4, 5, 2):
        X = rng.normal(size=(20, width)) if width not in fits else fits[width][0]
        model = tiny(training__num_steps=5, num_draws=5).fit(X, X[:, 0])
        before = fits.setdefault(width, (X, model.elbo_))[1]
        np.testing.assert_array_equal(model.elbo_, before)
        assert run_chunk._cache_size() <= 3


@pytest.mark.slow
def test_memory_over_forty_widths_is_bounded():
    code = """
    import numpy as np
    from tests.conftest import tiny
    def megabytes():
        return int(open("/proc/self/statm").read().split()[1]) * 4 / 1024
    sizes = []
    for width in range(2, 42):
        X = np.random.default_rng(0).normal(size=(40, width))
        tiny(hidden=(20, 20), training__num_steps=5, num_draws=25).fit(X, X[:, 0])
        sizes.append(megabytes())
    print(max(sizes[:12]), max(sizes))
    """
    words = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    early, late = map(float, subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    assert late < 1.25 * early
