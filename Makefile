# Trunkline. `make demo` shows it, `make test` proves it; both install what they need.
SHELL := /bin/bash
ARGS ?=
BUILD := .build
.PHONY: all setup build debug demo test bench speech-pack format lint clean

all: build

setup:
	@scripts/setup

build: setup
	swift build -c release --product trunkline

debug: setup
	swift build

demo: build
	@$(BUILD)/release/trunkline demo $(ARGS)

test: setup
	@scripts/test

bench: build
	scripts/bench-allocations
	$(BUILD)/release/trunkline bench streams $(ARGS)
	$(BUILD)/release/trunkline bench calls --persona cooperative --calls 5 --rounds 5

speech-pack:
	@scripts/speech-pack

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests

clean:
	swift package clean
