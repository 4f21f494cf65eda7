# Everything a person or CI runs. Needs Go and make; the race detector also
# needs a C compiler, and tests do without it where there is none.

GO ?= go
BIN := bin
LINT := $(BIN)/golangci-lint
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
RACE := $(if $(CC_FOUND),CGO_ENABLED=1 $(GO) test -race,CGO_ENABLED=0 $(GO) test)
# How all is compiled but tests, so that nothing is compiled twice: for the linter,
# which compiles what it reads, in its environment.
PLAIN := CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath"
# What make bench is to measure (make bench BENCH="-preset small").
BENCH ?=
# Set for a release (make build VERSION=v1.2.3); else Go records the commit.
VERSION ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./bin/gantry
	$(PLAIN) $(GO) build -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))' -o $(BIN)/gantry ./cmd/gantry

.PHONY: man
man: ## write manual pages to ./bin/man
	$(PLAIN) $(GO) run -tags man ./cmd/gantry man $(BIN)/man

.PHONY: test
test: ## run all tests, with the race detector, against a real registry too
	$(RACE) -timeout 30m ./...
	cd .ci/tools/crdcheck && $(PLAIN) $(GO) test ./...

.PHONY: demo
demo: build ## mirror sample catalogs over signed disks and directly, and platform releases, and check the result
	$(PLAIN) $(GO) run ./cmd/demo -gantry $(BIN)/gantry

.PHONY: bench
bench: build ## measure copying beside other tools in PATH; make bench BENCH="-preset small -rounds 1" takes a minute, BENCH=-help says more
	$(PLAIN) $(GO) build -o $(BIN)/bench ./cmd/bench
	$(BIN)/bench -gantry $(BIN)/gantry -o $(BIN)/bench.md -o $(BIN)/bench.json $(BENCH)

.PHONY: bench-go
bench-go: ## run the Go benchmarks of single functions
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: lint
lint: $(LINT) ## run golangci-lint
	$(PLAIN) $(LINT) run ./...

$(LINT): .ci/tools/lint/go.mod .ci/tools/lint/go.sum
	cd .ci/tools/lint && $(PLAIN) $(GO) build -buildvcs=false -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: clean
clean: ## remove what was built, and what the demo left
	rm -rf $(BIN)
