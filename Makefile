# Trunkline. `make demo` shows it, `make test` proves it; both install what they need.
SHELL := /bin/bash
ARGS ?=
BUILD := .build
.PHONY: all setup build debug demo check test test-long fuzz soak bench speech-pack settings format lint clean

all: build

setup:
	@scripts/setup

build: setup
	swift build -c release --product trunkline

debug: setup
	swift build

demo: build
	@$(BUILD)/release/trunkline demo $(ARGS)

# For every save, two minutes after a build: lint, unit tests, one call or page of each kind.
check:
	@scripts/check

# Everything a change can break.
test: setup
	@scripts/test

# Fuzzers for hours, soak, sanitizers: HOURS=8 make test-long
test-long: setup
	@scripts/test-long

# make fuzz ARGS="--seconds 300 sdp json"
fuzz: setup
	@scripts/fuzz $(ARGS)

# make soak ARGS=2 (hours)
soak: build
	@scripts/soak $(ARGS)

bench: build
	scripts/bench-allocations
	$(BUILD)/release/trunkline bench streams $(ARGS)
	$(BUILD)/release/trunkline bench calls --persona cooperative --calls 5 --rounds 5

speech-pack:
	@scripts/speech-pack

# Prints the declared settings into the files that list them (DeclarationTests compares).
settings:
	@scripts/print-settings

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests
	$(BUILD)/test-venv/bin/ruff format -q Tests/EndToEndTests

# Needs what `scripts/setup --test` installs.
lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests
	$(BUILD)/test-venv/bin/ruff format -q --check Tests/EndToEndTests

clean:
	swift package clean
	rm -rf .build-fuzz .build-asan .build-tsan
