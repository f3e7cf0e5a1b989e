# Everything sets itself up: only Python >= 3.11 and make are needed.
PYTHON ?= python3
OLDEST_PYTHON ?= python3.11
NEWEST_PYTHON ?= python3.12 python3.13
WORKERS ?= 1
BEFORE ?= 7b614db
AFTER ?= HEAD
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.ready-docs
PACKAGE_READY := $(VENV)/.ready-package

# What fails first when something is broken: the walls of the house, its names, what every row of a table has to hold
# (all test_contract.py), and exact values beside their definition. About a minute on two cores.
CHECKED := tests/test_architecture.py tests/test_public_api.py tests/test_project_files.py tests/orders/test_weights.py \
	tests/backgrounds/test_contract.py tests/values/test_contract.py tests/explainer/test_exact.py

.PHONY: check help limits engines versions demo test lint types clean docs fuzz bits mutants random_mutants benchmark compatibility reliability

help:
	@echo "make demo   set up the package alone, explain a model of the child network, write demo/index.html"
	@echo "make check  set up, then ruff, mypy and a minute of the tests that fail first"
	@echo "make test   set up, then run tests, ruff and mypy"
	@echo "make docs   set up, then build the documentation into docs/_build/html"
	@echo "make benchmark  set up, run all experiments (more than an hour), rewrite docs/benchmarks.md"
	@echo "make reliability  set up, then bad input, extremes, coverage of intervals, threads and seeds, damaged files, checks of graphs, pages of large tables, small runs of the benchmarks (half an hour)"
	@echo "make fuzz   set up, then every question of an explainer and 20,000 random cases against the definition (goes on where it stopped; WORKERS=4 for four processes)"
	@echo "make compatibility  wheel, sdist, and the tests with the oldest and the newest versions (three quarters of an hour)"
	@echo "make bits   set up, then explain 10,000 random cases by two commits and compare bits (BEFORE=, AFTER=; goes on where it stopped)"
	@echo "make mutants  set up, then break the code in known ways and see that the tests notice"
	@echo "make random_mutants  set up, then flip operators at random, a hundred of them, and see that the tests notice (hours; goes on where it stopped)"
	@echo "make limits set up, then Ctrl-C in every backend, memory and time as planned, problems too large, a million rows (an hour)"
	@echo "make engines  set up, then compare one process with Dask, and with Ray and Spark where they are installed"
	@echo "make versions OTHER_PYTHON=...  set up, then save explainers here and read them with another environment, and back"
	@echo "make clean  remove the virtual environment and what was generated"

$(PACKAGE_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("shap_asv needs Python >= 3.11, this is " + sys.version.split()[0] + "; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@echo "installing the package into $(VENV)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(PACKAGE_READY)

$(READY): $(PACKAGE_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $(DOCS_READY)

demo: $(PACKAGE_READY)
	$(BIN)/python -m shap_asv demo --network child --out demo

test: $(READY) lint types
	# one thread a worker: OpenMP of several workers on the same cores waits for itself
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

check: $(READY) lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -x -q -n auto $(CHECKED)

compatibility: $(READY)
	$(BIN)/python -m tests.reliability.compatibility --oldest-python $(OLDEST_PYTHON) --newest-python $(NEWEST_PYTHON)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

docs: $(DOCS_READY)
	$(BIN)/python docs/stories.py check
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

benchmark: $(READY)
	$(BIN)/python -m benchmarks

reliability: $(READY)
	$(BIN)/python -m tests.reliability.catalogue
	$(BIN)/python -m tests.reliability.extremes
	$(BIN)/python -m tests.reliability.reproducible
	$(BIN)/python -m tests.reliability.damaged
	$(BIN)/python -m tests.discovery.rates
	$(BIN)/python -m tests.reliability.coverage
	$(BIN)/python -m tests.reliability.pages
	$(BIN)/python -m benchmarks --small --quiet

bits: $(READY)
	$(BIN)/python -m tests.reliability.bits $(BEFORE) $(AFTER)

fuzz: $(READY)
	$(BIN)/python -m tests.reliability.fuzz --matrix
	$(BIN)/python -m tests.reliability.fuzz --workers $(WORKERS)

mutants: $(READY)
	$(BIN)/python -m tests.reliability.mutants

random_mutants: $(READY)
	$(BIN)/python -m tests.reliability.random_mutants

limits: $(READY)
	$(BIN)/python -m tests.reliability.limits
	$(BIN)/python -m tests.reliability.plans
	$(BIN)/python -m tests.reliability.beyond
	$(BIN)/python -m tests.reliability.million

engines: $(READY)
	$(BIN)/python -m tests.reliability.engines

versions: $(READY)
	$(BIN)/python -m tests.reliability.versions $(OTHER_PYTHON)

clean:
	rm -rf $(VENV) demo docs/_build build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
