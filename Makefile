# Two commands do all the set-up: `make chat` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 7860
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: chat test check torture quality clean

# A collection of its own for the sample stories, unless STORYBOT_DATA_DIR says otherwise.
chat: $(VENV)/.installed
	@export STORYBOT_DATA_DIR="$${STORYBOT_DATA_DIR:-$(CURDIR)/.storybot/demo}"; \
	$(BIN)/storybot ingest corpus && exec $(BIN)/storybot serve --host $(HOST) --port $(PORT) --open

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

# The long runs of the tests that `make test` runs in short.
torture: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m torture --torture

# Storybot and its peers on the same questions; QUALITY="--only corpus" or "--write" goes through.
quality: $(VENV)/.installed-bench
	$(BIN)/python eval/bench/quality.py $(QUALITY)

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "storybot needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "Installing pinned packages into $(VENV) (a few minutes the first time)"
	$(BIN)/pip install --quiet -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(BIN)/pip install --quiet -r requirements.lock -r requirements-dev.lock
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed requirements-bench.lock
	$(BIN)/pip install --quiet -r requirements.lock -r requirements-bench.lock
	@touch $@

clean:
	rm -rf $(VENV) .storybot build dist src/*.egg-info
