# Every verb of this repository. `make test` is what a newcomer and CI must see
# green; it installs what it needs. The recipes are short, longer ones are
# scripts in .ci/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := test

# The module holds validate.proto and no Go package, so go.mod cannot pin it.
export PROTOVALIDATE := github.com/bufbuild/protovalidate@v1.2.2
export PROTOVALIDATE_SUM := h1:2H/9/Kr97etSRqW3IJjTTb09z+zutkK2GDhDRbOnqr4=

BUF      := proto/tools/node_modules/.bin/buf
GOLANGCI := go tool -modfile=proto/tools/lint/go.mod golangci-lint
VALIDATE := .build/include/buf/validate/validate.proto
# One run of a linter at a time is enough for two cores, and it keeps its cache
# out of the way of other checkouts.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.build/golangci

SEED ?= 1
N    ?= 300
# How many stories about who is called; `make test` tells a slice of them.
STORIES ?= 2000
OFF  ?=
# What acts on the outside has a world of its own, and two rules.
SIMS := ^$(if $(filter R14 R15,$(OFF)),TestEffects,$(if $(OFF),TestSimulation,Test(Simulation|Effects)))$$
# Restores have stories of their own beside the verbs.
RUN_SIM = SIM_SEED=$(SEED) SIM_N=$(N) OFF=$(OFF) go test $(if $(OFF),-tags off) -count=1 -v -timeout 60m -run '$(SIMS)' ./e2e/sim/
FUZZTIME ?= 20s
KILLS    ?= 100

.PHONY: run gen lint test sim fuzz bench conformance browser check
.PHONY: tools build unit ts scenarios baseline fix gen-check lint-go lint-proto

# --- for people -------------------------------------------------------------

## run: a server with emulated phones and a sample agent, and how to answer it
run: tools
	@.ci/need .ci/demo "the script that starts a server, emulated phones and a sample agent"
	@.ci/demo

## test: all stages, each with its time; stops at the first that fails
test:
	@.ci/test

## check: test, then race everywhere once more, uncached and with the build tags
check: test
	go test -race -shuffle=on -count=1 -tags off,failpoints ./...

## sim: the seeded simulation and the stories about who is called; OFF=<rule> switches one rule off to see it caught
sim:
	@.ci/need e2e/sim "the seeded simulation"
	$(if $(filter R25 R28,$(OFF)),go test -tags off -count=1 -v -run '^TestOff_Restores$$/^$(OFF)$$' ./server/app/,$(RUN_SIM))
	$(if $(OFF),,ALERTS_SEED=$(SEED) ALERTS_N=$(STORIES) go test -count=1 -v -timeout 60m ./e2e/alerts/)
	$(if $(OFF),,go test -count=1 -run '^TestRun_' ./e2e/sim/ && go test -tags off -count=1 -v -run '^TestOff' ./e2e/sim/ ./server/app/)

## fuzz: every fuzz target in turn for FUZZTIME
fuzz:
	@.ci/fuzz $(FUZZTIME)

## bench: the numbers, with machine and versions, side by side with gorush, and KILLS kills; sizes by BECKON_LOAD_*, see e2e/load/sizes.go
bench:
	@.ci/need e2e/load "the load programs that print the numbers"
	go test -run '^$$' -bench . -benchtime 1x -timeout 180m ./e2e/load/...
	BECKON_SCENARIO_KILLS=$(KILLS) go test -count=1 -v -timeout 60m -run B28 ./e2e/scenario

## conformance: the public cases of Connect, gRPC and gRPC-Web, and grpcurl, against the server
conformance: proto/tools/node_modules/.stamp $(VALIDATE)
	cd e2e/conformance && go test -count=1 -v -timeout 20m .

## browser: the web app in a real browser
browser:
	@.ci/need e2e/browser "the browser tests"
	go test -count=1 ./e2e/browser/...

# --- parts of test ----------------------------------------------------------

## tools: install what the other verbs use, pinned; needs the network once
tools: proto/tools/node_modules/.stamp $(VALIDATE)
	@.ci/system
	@go tool -modfile=proto/tools/go.mod protoc-gen-go --version
	@go tool -modfile=proto/tools/go.mod protoc-gen-connect-go --version
	@$(GOLANGCI) version --short

proto/tools/node_modules/.stamp: proto/tools/package-lock.json
	cd proto/tools && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(VALIDATE): Makefile .ci/include
	@.ci/include $@

## gen: the generated code of proto/, offline once the tools are there
gen: proto/tools/node_modules/.stamp $(VALIDATE)
	$(BUF) generate --template proto/buf.gen.yaml
	$(BUF) generate --template proto/buf.gen.ts.yaml

## gen-check: fails when gen would change what is in the tree
gen-check: proto/tools/node_modules/.stamp $(VALIDATE)
	@.ci/gen-check

## baseline: the schema later changes are judged against; written at a release
baseline: proto/tools/node_modules/.stamp $(VALIDATE)
	$(BUF) build proto --exclude-source-info -o proto/baseline.binpb

lint: lint-proto lint-go

lint-proto: proto/tools/node_modules/.stamp $(VALIDATE)
	$(BUF) lint proto
	$(BUF) format --diff --exit-code proto
	@.ci/need proto/baseline.binpb "the baseline schema; 'make baseline' writes it"
	$(BUF) breaking proto --against proto/baseline.binpb || \
	  { echo "a published schema only grows; what was never released: make baseline" >&2; exit 1; }

## fix: what gofmt, buf and the linters can repair by themselves
fix: proto/tools/node_modules/.stamp $(VALIDATE)
	$(BUF) format --write proto
	$(GOLANGCI) run --fix

lint-go:
	go vet ./...
	go vet -tags off,failpoints ./...
	$(GOLANGCI) run
	go test -count=1 -v -run '^TestRepository$$' ./e2e/arch

build:
	go build ./...
	go build -tags off,failpoints ./...

# The simulation and the stories have their own stage.
unit:
	go test -race -shuffle=on $$(go list ./... | grep -vE '/e2e/(sim|alerts|scenario|load|conformance|browser)(/|$$)')

## ts: the client for browsers, Node and React Native: types, tests, what is published
ts: clients/ts/node_modules/.stamp
	cd clients/ts && npm run --silent check && npm test --silent && npm run --silent build

clients/ts/node_modules/.stamp: clients/ts/package-lock.json
	cd clients/ts && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

scenarios: clients/ts/node_modules/.stamp
	@.ci/need e2e/scenario "the stories"
	go test -race -shuffle=on -timeout 20m ./e2e/scenario/...
