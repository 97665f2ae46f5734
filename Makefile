# One file for every chore. Everything happens in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PYTEST := $(BIN)/python -m pytest tests -n 2 --dist worksteal
# The parts of the tests on a GPU, each a file tests/gpu/test_gpu_<part>.py.
PART ?= fixtures cheats honest timing memory forge recurrent tuning operators graphs

# Compiled modules are kept: the tests start some hundred Pythons.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all check-style gpu-test setup clean

demo: setup  ## forge an example kernel without a GPU or a key and show what came out
	$(BIN)/tilesmith forge examples/gru.py --effort quick
	$(BIN)/tilesmith runs show last

test: setup check-style  ## what every change must pass, without a GPU
	$(PYTEST) -m "not gpu and not slow_suite"

test-all: setup check-style  ## every test that needs no GPU
	$(PYTEST) -m "not gpu"

check-style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

gpu-test:  ## on a machine with a GPU and its own torch and triton; PART=cheats runs one part
	PYTHONPATH=$(CURDIR)/src PYTHONUNBUFFERED=1 $(PYTHON) -m pytest $(PART:%=tests/gpu/test_gpu_%.py) -m gpu -vv

setup: $(VENV)/.ready

# torch comes first and alone: on a machine without a GPU its pinned release has a CPU build.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,mcp,serve,ray]"
	@command -v chromium >/dev/null || { apt-get update && apt-get install --yes chromium; } >/dev/null 2>&1 \
		|| echo "no chromium here: tests of pages are skipped"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
