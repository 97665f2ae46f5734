# One file for every chore. Everything happens in .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check-style gpu-test setup clean

demo: setup  ## forge an example kernel without a GPU or a key and show what came out
	$(BIN)/tilesmith forge examples/gru.py --effort quick
	$(BIN)/tilesmith runs show last

test: setup check-style  ## every test that needs no GPU
	$(BIN)/python -m pytest tests -m "not gpu" -n 2 --dist worksteal

check-style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

gpu-test:  ## on a machine with a GPU and its own torch and triton
	PYTHONPATH=src $(PYTHON) -m pytest tests/gpu -m gpu

setup: $(VENV)/.ready

# torch comes first and alone: on a machine without a GPU its pinned release has a CPU build.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
