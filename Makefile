# Two commands matter: `make demo` and `make test`. Both set up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
TESTS :=  # some tests only: make coverage TESTS=tests/test_numerics.py

.PHONY: demo test test-all test-lowest coverage check audit docs format bench bench-quick bench-quality bench-likelihoods arena arena-quick soak clean

demo: $(VENV)/.demo
	$(BIN)/pritchel demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile

test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m ""

# The oldest versions that pyproject.toml allows. They warn of what newer ones have deprecated; that is no fault here.
test-lowest: $(VENV)/.dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[tests]'
	$(LOWEST)/bin/pytest -n 2 --dist loadfile -W ignore::DeprecationWarning -W ignore::FutureWarning $(TESTS)

coverage: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term --cov-report=html $(TESTS)

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -q -W --keep-going -c docs -d docs/_build/doctrees . docs/_build/html
	@echo "docs/_build/html/index.html"

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m pip --quiet check
	$(MAKE) --no-print-directory docs

# Known faults of what is installed, which only a service knows: this asks it, so it needs the network.
audit: $(VENV)/.dev
	$(BIN)/uv tool run pip-audit --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	for question in step cold default to_target dead_units predict growth objectives; do $(BIN)/python benchmarks/$$question.py || exit 1; done

# A few ratios beside those on record: what got slower by more than a quarter?
bench-quick: $(VENV)/.dev
	$(BIN)/python benchmarks/quick.py

bench-quality: $(VENV)/.dev
	$(BIN)/python benchmarks/quality.py

bench-likelihoods: $(VENV)/.dev
	$(BIN)/python benchmarks/likelihoods.py

# Beside today's best: a night, resumable. ARENA="--tables yacht --methods Pritchel bde --splits 2", or "--page".
arena: .venv-arena/.ready .venv-bde/.ready
	.venv-arena/bin/python benchmarks/arena $(ARENA)

arena-quick: .venv-arena/.ready .venv-bde/.ready
	.venv-arena/bin/python benchmarks/arena --quick $(ARENA)

.venv-arena/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-arena
	.venv-arena/bin/python -m pip install --quiet --editable '.[arena]'
	@touch $@

# bde pins a blackjax that Pritchel cannot live with.
.venv-bde/.ready: benchmarks/arena/bde-requirements.txt
	$(PYTHON) -m venv .venv-bde
	.venv-bde/bin/python -m pip install --quiet --requirement $<
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Pritchel needs Python 3.11 or newer; point PYTHON at one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

# An hour of hard use; some arguments: make soak SOAK="--minutes 5 --areas kills tables", or "--resume".
soak: $(VENV)/.dev
	$(BIN)/python -m tests.soak $(SOAK)

clean:
	rm -rf $(VENV) $(LOWEST) .venv-arena .venv-bde .pytest_cache .ruff_cache .coverage htmlcov docs/_build docs/reference
