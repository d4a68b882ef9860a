# Needs Python >= 3.11 with venv, and make. Everything else comes from the hash-pinned locks.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo serve test lint types corpus bench soak locks clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.runtime  ## the attack without and with the firewall, side by side
	@$(BIN)/python -m scripts.run_demo $(ARGS)

serve: $(VENV)/.runtime  ## broker and mock APIs with a demo user, agent and grant, until Ctrl-C
	@$(BIN)/python -m scripts.serve $(ARGS)

test: $(VENV)/.development  ## every test whose tools exist; names what was not run and why
	@$(PYTEST) -n auto --dist loadfile -q $(ARGS)

lint: $(VENV)/.development  ## style, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

corpus: $(VENV)/.development  ## attacks and their benign twins at every door
	@$(BIN)/python -m scripts.run_corpus $(ARGS)

bench: $(VENV)/.development  ## every figure, as a ratio against its reference in the same run
	@status=0; for name in decide road; do echo "== $$name"; \
	  $(BIN)/python -m benchmarks.$$name $(ARGS) || status=1; done; exit $$status

soak: $(VENV)/.development  ## the long loops: fuzzing, kills, races
	@COUNTERFOIL_SOAK=1 $(PYTEST) -n auto -q --timeout 3600 $(ARGS)

locks:  ## make the locks anew (needs uv)
	@for lock in runtime development; do uv pip compile --upgrade --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
	  locks/$$lock.in -o locks/$$lock.lock --quiet || exit 1; done

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "counterfoil needs Python >= 3.11; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "this Python has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "making $(VENV) (once, about half a minute) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: locks/runtime.lock pyproject.toml | $(VENV)/bin/python
	@$(PIP) install --require-hashes -r locks/runtime.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.development: locks/development.lock $(VENV)/.runtime
	@echo "installing the development tools (once) ..."
	@$(PIP) install --require-hashes -r locks/development.lock
	@touch $@
