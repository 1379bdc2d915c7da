# One virtual environment, two commands that matter: `make demo` and `make test`.
# They need Python 3.11 or newer (name another one with PYTHON=...) and nothing else.

PYTHON ?= python3
PYTEST_ARGS ?= --numprocesses auto --dist worksteal
VENV := .venv
BIN := $(VENV)/bin
OLDEST := $(VENV)-oldest
CORE := setup.py $(wildcard core/*.py core/src/*) src/fewlabels/_core/fewlabels.h
# What meets the dependencies' interfaces: validation, files, tables, terminals, graphs.
OLDEST_TESTS ?= tests/tables tests/cli tests/portability tests/one_class/test_ecosystem.py tests/one_class/test_scikit_learn.py
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test suite quick lint format package oldest versions docs bench wheels release sanitize tables prose changelog clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

demo: $(VENV)/installed ## Set up, learn one class of a real data set, compare, draw a picture
	$(BIN)/fewlabels demo

test: lint suite ## Set up, check style and layers, run all tests

suite: $(VENV)/installed-test ## Set up, run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

quick: $(VENV)/installed-test ## Check what changed, in under a minute
	$(BIN)/python tests/quick.py

lint: $(VENV)/installed-test ## Check style (ruff), types (mypy), imports (import-linter) and spelling (codespell)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

format: $(VENV)/installed-test ## Format the code and repair what can be repaired
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

package: $(VENV)/installed-test ## Build sdist and wheel, install the wheel afresh and use it
	$(BIN)/python tests/packaging/try_package.py

# Old versions warn of each other, so warnings are no errors here.
oldest: $(OLDEST)/installed ## Test with the oldest versions of all dependencies (requirements/oldest.txt)
	$(OLDEST)/bin/python -m pytest $(PYTEST_ARGS) -W default $(OLDEST_TESTS)

versions: $(VENV)/installed-test ## Test the wheel with each of PYTHONS that is found (VERSIONS_ARGS=--all: all tests)
	$(BIN)/python tests/versions.py $(VERSIONS_ARGS) $(PYTHONS) -- $(PYTEST_ARGS)

docs: $(VENV)/installed-docs ## Build the documentation site into docs/_build/html, examples included
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html

wheels: $(VENV)/installed-release ## Build wheels for all platforms into dist (WHEELS="manylinux_2_17_x86_64" for some)
	$(BIN)/python core/wheels.py $(WHEELS)

release: $(VENV)/installed-release ## Build and try what a release publishes, and say how to publish it (RELEASING.md)
	$(BIN)/python core/release.py $(RELEASE_ARGS)

sanitize: $(VENV)/installed-test ## Run the core's tests and fuzz programs with address and undefined-behaviour checks
	$(BIN)/python core/sanitize.py

bench: $(VENV)/installed-benchmarks ## Run the benchmarks that need no data of their own, quickly
	$(BIN)/python benchmarks startup
	$(BIN)/python benchmarks many_rows --quick

tables: $(VENV)/installed-test ## Fill the tables of README and docs/benchmarks.md from benchmarks/results.json
	$(BIN)/python benchmarks/results.py tables

prose: $(VENV)/installed-test ## Show the length of every document and of its sentences
	$(BIN)/python -m tests.meta.prose

changelog: $(VENV)/installed-test ## Show the changelog entries of the next release (changelog.d)
	$(BIN)/towncrier build --draft --version next

clean: ## Remove the environment, caches and results
	rm -rf $(VENV) $(OLDEST) .cache .pytest_cache .ruff_cache .import_linter_cache .mypy_cache build dist
	rm -rf demo-output results src/*.egg-info docs/_build docs/gallery docs/api
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# `pip install --group` came with pip 25.1, and Python 3.11 to 3.13 bring an older one.
NEW_PIP := $(PIP) install --quiet 'pip>=25.1'

# Stamp files: installing again is needed only when pyproject.toml or the C++ core changes.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "fewlabels needs Python 3.11 or newer, found: $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/installed: pyproject.toml $(CORE) | $(BIN)/python
	$(PIP) install --quiet --editable '.[app]'
	@touch $@

$(VENV)/installed-test: pyproject.toml $(CORE) | $(BIN)/python
	$(NEW_PIP)
	$(PIP) install --quiet --editable . --group test
	@touch $@ $(VENV)/installed

$(OLDEST)/installed: pyproject.toml $(CORE) requirements/oldest.txt | $(BIN)/python
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || { \
	  echo "The oldest versions exist for Python 3.11 and 3.12: make PYTHON=python3.11 oldest"; exit 1; }
	$(BIN)/python -m venv $(OLDEST)
	$(NEW_PIP)
	$(PIP) --python $(OLDEST)/bin/python install --quiet --editable . --group test \
	  --constraint requirements/oldest.txt
	@touch $@

$(VENV)/installed-docs: pyproject.toml $(CORE) | $(BIN)/python
	$(NEW_PIP)
	$(PIP) install --quiet --editable . --group docs
	@touch $@ $(VENV)/installed

$(VENV)/installed-benchmarks: pyproject.toml $(CORE) | $(BIN)/python
	$(NEW_PIP)
	$(PIP) install --quiet --editable . --group benchmarks
	@touch $@ $(VENV)/installed

$(VENV)/installed-release: pyproject.toml | $(BIN)/python
	$(NEW_PIP)
	$(PIP) install --quiet --group release
	@touch $@

.PHONY: fuzz
fuzz: $(VENV)/installed-test ## Random programs against path following, two processes (FUZZ_ARGS="--first 0 --programs 20000")
	$(BIN)/python tests/path/fuzz.py $(FUZZ_ARGS)

.PHONY: hostile
hostile: $(VENV)/installed-test ## Hostile input, files and commands, from seeds (HOSTILE_ARGS="--only files --seed 7 --cases 50")
	$(BIN)/python -m tests.hostile $(HOSTILE_ARGS)
