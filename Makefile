# One command for each thing a person does here; CONTRIBUTING.md says when.
# Needs Python 3.11 to 3.13, git and make. Everything is installed below this directory.

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit others check-quick sim tla bench clean

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { command -v $$p; break; }; done)
endif

# Nothing is installed again until pyproject.toml or the Python changes.
KEY := $(shell { cat pyproject.toml; $(PYTHON) -VV 2>&1; } | cksum | cut -d' ' -f1)
PROJECT := .venv/.project-$(KEY)
DEV := .venv/.dev-$(KEY)
TLC := .venv/.tlc-$(KEY)
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(PROJECT) ## kill an engine in mid-flight, several times, and check what it did
	@$(BIN)/python -m examples.checkout

test: lint types unit others ## everything CI runs: lint, types, tests, other Pythons

lint: $(DEV) ## ruff, and import-linter's floors and purity contract
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PYTHONPATH=. $(BIN)/lint-imports --no-logo --no-cache

types: $(DEV) ## pyright strict and mypy strict, on the package and on code that uses it as a user would
	@$(BIN)/pyright
	@$(BIN)/mypy --no-error-summary

unit: $(DEV)
	@$(BIN)/python -m pytest -q -n 2 -m 'not serial'
	@$(BIN)/python -m pytest -q -m serial

others: $(DEV) # A fast subset on each other supported Python that this machine has.
	@.ci/other-pythons $(BIN)/python

check-quick: $(DEV) ## seconds, not minutes: style, floors, and the tests that start no process
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m pytest -q -x -n 2 -m 'not slow and not real'

sim: $(DEV) ## some minutes of fresh seeds, the directed scenarios, and a bug that must be caught
	@$(BIN)/python -m sim.scenarios
	@$(BIN)/python -m sim.bugs --canary payload_hash_not_checked
	@$(BIN)/python -m sim.swarm --level byte --seeds fresh --minutes 1
	@$(BIN)/python -m sim.swarm --level full --seeds fresh --minutes 1
	@$(BIN)/python -m sim.swarm --level protocol --seeds fresh --minutes 0.5

tla: $(TLC) ## search the TLA+ models, and each with a bug that must be found; needs Java
	@$(BIN)/python -m tla.check $(MODELS)

bench: $(PROJECT) ## the measurements of bench/README.md, as ratios taken in one run
	@$(BIN)/python -m bench $(ARGS)

clean: ## remove what the other targets made
	rm -rf .venv .venv-3.* .fusee-bench-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	rm -rf .hypothesis .import_linter_cache examples/checkout/run
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PROJECT): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Fusee needs Python 3.11, 3.12 or 3.13; name one: make PYTHON=..."; exit 1; }
	@echo "environment: .venv on $$($(PYTHON) --version)"
	@test "$$($(BIN)/python -VV 2>/dev/null)" = "$$($(PYTHON) -VV)" || $(PYTHON) -m venv --clear .venv \
		|| { echo "no venv module: on Debian and Ubuntu, apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install -qq --editable .
	@rm -f .venv/.project-* && touch $@

$(DEV): $(PROJECT)
	@echo "environment: development tools"
	@$(BIN)/python -m pip install -qq --group dev
	@rm -f .venv/.dev-* && touch $@

$(TLC): $(PROJECT)
	@$(BIN)/python -m pip install -qq --group tla
	@rm -f .venv/.tlc-* && touch $@
