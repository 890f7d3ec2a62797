# The workshop. `make` alone prints its menu; every target sets up what it needs, once.
.DEFAULT_GOAL := menu
.PHONY: menu run test check fix bench lock lint types quick
MAKEFLAGS += --no-print-directory
BIN := .venv/bin
SETUP := sh tools/python tools/setup.py
FAST := $(wildcard $(addprefix tests/,unit architecture services faces contract))

menu: ## print this menu
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

run: ## set up what is missing and start the server (ARGS="--port 9000" and the like)
	@$(SETUP) run
	@exec $(BIN)/archivist serve $(ARGS)

test: ## everything: lint, types, floors and the whole suite (ARGS="-k words" to choose)
	@$(SETUP) test
	@$(MAKE) lint types
	@$(BIN)/python tools/services.py $(BIN)/python -m pytest $(ARGS)

check: ## the fast half, a few minutes, no service needed
	@$(SETUP) dev
	@$(MAKE) lint types quick

fix: ## format, and mend what lint can mend safely
	@$(SETUP) dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: ## quality and speed, to JSON and a table (DATA=folder with the data sets)
	@$(SETUP) dev
	@exec $(BIN)/python -m benchmarks "$(DATA)" $(ARGS)

lock: ## resolve the requirements anew (ARGS=--upgrade for the newest versions)
	@$(SETUP) lock
	@$(BIN)/python tools/lock.py $(ARGS)

# The parts of `test` and `check`.
lint:
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .

types:
	@$(BIN)/mypy --no-error-summary

quick:
	@$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=quick -m 'not model' -k 'not postgresql and not mariadb' $(FAST)
