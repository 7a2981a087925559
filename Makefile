# Two commands matter: `make demo` and `make test`. Both set up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all check format bench bench-quality bench-likelihoods clean

demo: $(VENV)/.demo
	$(BIN)/pritchel demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile

test-all: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m ""

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	for question in step cold to_target dead_units predict growth objectives; do $(BIN)/python benchmarks/$$question.py || exit 1; done

bench-quality: $(VENV)/.dev
	$(BIN)/python benchmarks/quality.py

bench-likelihoods: $(VENV)/.dev
	$(BIN)/python benchmarks/likelihoods.py

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

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
