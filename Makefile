# Two commands are enough, on any machine with Python 3.11 or newer and make:
#   make demo   installs into .venv, asks for a move, trains for a minute, plays matches
#   make test   installs the rest and checks everything
# Extra pip options: make test PIP_FLAGS="--extra-index-url https://download.pytorch.org/whl/cpu"

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS ?=
# The first of these that is new enough; another one: make demo PYTHON=/path/to/python
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$p; break; fi; done)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_FLAGS)
PEERS := gnubg-nn gnubg bgsage

.PHONY: help demo test test-slow peers lint types tests wheel format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       install into $(VENV), ask for a move, train for a minute, play matches"
	@echo "make test       install what the tests need and check everything (some minutes)"
	@echo "make test-slow  only the tests that make test leaves out because they take long"
	@echo "make format     let ruff format the code and fix what it can"
	@echo "make clean      remove $(VENV) and everything built"

demo: $(VENV)/.installed
	@echo '$$ nardi best-move start --dice 31'
	@$(BIN)/python -m nardi best-move start --dice 31
	@echo
	@rm -rf runs/demo
	@echo '$$ nardi train --preset smoke --seed 1 --out runs/demo'
	@$(BIN)/python -m nardi train --preset smoke --seed 1 --out runs/demo
	@echo
	@echo '$$ nardi benchmark net:runs/demo/last.safetensors random --games 1000 --seed 1'
	@$(BIN)/python -m nardi benchmark net:runs/demo/last.safetensors random --games 1000 --seed 1
	@echo
	@echo '$$ nardi benchmark net pubeval --games 2000 --seed 1'
	@$(BIN)/python -m nardi benchmark net pubeval --games 2000 --seed 1

test: $(VENV)/.installed-test peers
	@$(MAKE) --no-print-directory lint types tests wheel
	@echo "make test: everything passed"

lint: $(VENV)/.installed-test
	@echo "== ruff"
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .

types: $(VENV)/.installed-test
	@echo "== mypy --strict"
	@$(BIN)/python -m mypy

tests: $(VENV)/.installed-test
	@echo "== fast tests and the examples of README.md"
	@$(BIN)/python -m pytest -q -rs --durations=10 -n auto

test-slow: $(VENV)/.installed-test peers
	@$(BIN)/python -m pytest -q -rs -m slow

wheel: $(VENV)/.installed-test
	@echo "== the wheel, built and used outside this folder"
	@$(BIN)/python tests/smoke_wheel.py

format: $(VENV)/.installed-test
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Other programs, for comparison. Not every system has them: the tests that need one then skip.
peers: $(VENV)/.installed-test
	@for peer in $(PEERS); do \
		test -e $(VENV)/.installed-$$peer && continue; \
		if $(INSTALL) --only-binary=$$peer "$$peer" 2>$(VENV)/$$peer.log; \
		then touch $(VENV)/.installed-$$peer; \
		else echo "notice: $$peer cannot be installed here; tests that need it are skipped" \
			"(reason in $(VENV)/$$peer.log)" >&2; fi; \
	done

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing what the tests need into $(VENV) ..." >&2
	@$(INSTALL) -e '.[train,check]'
	@rm -f $(PEERS:%=$(VENV)/.installed-%)
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and none was found;" \
		"name one with: make demo PYTHON=/path/to/python" >&2; exit 1; }
	@echo "installing into $(VENV) with $(PYTHON); torch is large, README.md names a small one ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e '.[train]'
	@touch $@
