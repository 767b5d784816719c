# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1

.DEFAULT_GOAL := help
.PHONY: help install runsc demo test lint types bench schema lock clean

help: ## list what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed runsc ## a virtual environment from the hashed lock; runsc where it is missing

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; make PYTHON=python3.12 ... names another one"; exit 2; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || .ci/install-packages python3-venv
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing into $(VENV) (about a minute)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Only where it can be of use: on Linux, as root. Elsewhere the demo says so and simulates.
runsc:
	@if [ "$$(uname)" = Linux ] && [ "$$(id -u)" = 0 ] && ! command -v runsc >/dev/null; then .ci/install-packages runsc || true; fi

demo: install ## the main job in a small size: density and latency on this machine
	@$(BIN)/sandgauge run density latency --on local --otherwise-on simulated --set size=demo

test: install ## the whole test suite
	@$(BIN)/python -m pytest -q

lint: install ## style, imports, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

bench: install ## speed, as ratios measured in one run
	@$(BIN)/python -m tests.bench

schema: install ## write the JSON Schemas of scenarios, targets and suites anew
	@$(BIN)/python -m specs.schema

lock: ## pin the dependencies anew, with hashes and without addresses
	@$(BIN)/pip install --quiet uv && $(BIN)/uv pip compile pyproject.toml --group dev --generate-hashes --universal \
		--python-version 3.11 --no-header --quiet --output-file requirements.lock

clean: install ## end at zero: nothing of ours on this machine
	@$(BIN)/sandgauge clean local
