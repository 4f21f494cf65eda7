# The targets for people and for CI. Needs Go and make. The race detector (make test-race) also needs
# a C compiler; without one, its tests run without it.

GO ?= go
BIN := bin
LINT := $(BIN)/golangci-lint
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
# A program with the race detector sleeps for a second when it exits, unless told otherwise.
RACE := $(if $(CC_FOUND),CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 $(GO) test -race,CGO_ENABLED=0 $(GO) test)
# The settings for everything but tests with the race detector. One set of settings
# means that no package is compiled twice; the linter compiles what it reads.
PLAIN := CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath"
# The flags of make bench (make bench BENCH="-preset small").
BENCH ?=
# The version of a release (make build VERSION=v1.2.3). If empty, Go records the commit.
VERSION ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./bin/gantry and ./bin/gantry-helm
	$(PLAIN) $(GO) build -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))' -o $(BIN)/gantry ./cmd/gantry
	$(PLAIN) $(GO) build -C cmd/gantry-helm -ldflags '-s -w' -o $(CURDIR)/$(BIN)/gantry-helm .

# The platforms of the container image, and where it is pushed to (make image IMAGE_PUSH=registry.example.com/tools/gantry:v1).
IMAGE_PLATFORMS ?= linux/amd64,linux/arm64
IMAGE_PUSH ?=
comma := ,

.PHONY: image
image: ## make a container image in ./bin/image, without a container engine; IMAGE_PUSH=HOST/REPOSITORY:TAG also pushes it
	@set -e; for platform in $(subst $(comma), ,$(IMAGE_PLATFORMS)); do \
		out=$(CURDIR)/$(BIN)/programs/$$(echo $$platform | tr / -); export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		$(PLAIN) $(GO) build -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))' -o $$out/gantry ./cmd/gantry; \
		$(PLAIN) $(GO) build -C cmd/gantry-helm -ldflags '-s -w' -o $$out/gantry-helm .; \
	done
	$(PLAIN) $(GO) build -C cmd/containerimage -o $(CURDIR)/$(BIN)/containerimage .
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)} $(BIN)/containerimage -programs $(BIN)/programs -platforms $(IMAGE_PLATFORMS) \
		-zoneinfo "$$($(GO) env GOROOT)/lib/time/zoneinfo.zip" -to $(BIN)/image -version "$(VERSION)" -revision "$$(git rev-parse HEAD 2>/dev/null)" $(if $(IMAGE_PUSH),-push $(IMAGE_PUSH))

.PHONY: man
man: ## write manual pages to ./bin/man
	$(PLAIN) $(GO) run -tags man ./cmd/gantry man $(BIN)/man

# Linting runs go vet, and symbol tables only make linking slower. With -short, random
# tests take fewer samples, and tests of large content are left to make test-long.
# The packages of make test and make test-long, and the names of tests, if not all.
PACKAGES ?= ./...
RUN ?=
only = $(if $(RUN),-run '^($(RUN))$$')

.PHONY: test
test: ## run the tests, with a real registry
	$(PLAIN) $(GO) test -short -vet=off -ldflags='-s -w' -timeout 20m $(only) $(PACKAGES)

# The packages that start goroutines, and the one that joins all of them in a run.
CONCURRENT = ./mirror/mirroring $$(grep -rlE --include='*.go' --exclude='*_test.go' 'errgroup\.|go func|WaitGroup' mirror archive plan pkg | \
	grep -v 'test/' | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: test-race
test-race: ## run the tests of packages that start goroutines, with the race detector
	$(RACE) -short -vet=off -ldflags='-s -w' -timeout 20m $(only) $(if $(filter-out ./...,$(PACKAGES)),$(PACKAGES),$(CONCURRENT))

.PHONY: test-long
test-long: ## run all tests in full length, without the race detector
	$(PLAIN) $(GO) test -vet=off -ldflags='-s -w' -timeout 30m $(only) $(PACKAGES)
	cd cmd/bench && $(PLAIN) $(GO) test -vet=off ./...
	cd cmd/gantry-helm && $(PLAIN) $(GO) test -vet=off ./...
	cd cmd/containerimage && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/crdcheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/deploycheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/hostscheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/deltacorpus && $(PLAIN) $(GO) test -vet=off ./...

.PHONY: demo
demo: build ## mirror sample catalogs and releases directly and over signed disks, and check the result
	$(PLAIN) $(GO) run ./cmd/demo -gantry $(BIN)/gantry

.PHONY: bench
bench: build ## compare the speed with other tools in PATH; BENCH="-preset small -rounds 1" takes a minute, BENCH=-help lists flags
	cd cmd/bench && $(PLAIN) $(GO) build -o $(CURDIR)/$(BIN)/bench .
	$(BIN)/bench -gantry $(BIN)/gantry -o $(BIN)/bench.md -o $(BIN)/bench.json $(BENCH)

# The corpus needs about 4 GB in this folder, and npm, apt-get and python3. If an old version is no longer offered, the others are measured.
DELTA_CORPUS ?= $(BIN)/corpus

.PHONY: delta-corpus
delta-corpus: ## build layers of real programs and measure deltas between them; DELTA_CORPUS=DIR keeps them in DIR; takes an hour
	cd .ci/tools/deltacorpus && $(PLAIN) $(GO) build -o $(CURDIR)/$(BIN)/deltacorpus .
	mkdir -p $(DELTA_CORPUS)
	-$(BIN)/deltacorpus build -dir $(DELTA_CORPUS)
	$(BIN)/deltacorpus measure -dir $(DELTA_CORPUS) -json $(BIN)/deltas.json -o $(BIN)/deltas.md

.PHONY: bench-go
bench-go: ## run the Go benchmarks of single functions
	$(GO) test -run '^$$' -bench . -benchmem ./...

# A room is a package of one verb, such as ./mirror/removal.
PKG ?=

.PHONY: check
check: $(LINT) ## check the format, lint and short tests of some packages: make check PKG=./mirror/...
	@test -n "$(PKG)" || { echo 'say which packages: make check PKG=./mirror/...' >&2; exit 2; }
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' $(PKG))); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }
	$(PLAIN) $(LINT) run $(PKG)
	$(PLAIN) $(GO) test -short -vet=off -ldflags='-s -w' $(PKG)

.PHONY: lint
lint: $(LINT) ## run golangci-lint
	$(PLAIN) $(LINT) run ./...
	cd cmd/bench && $(PLAIN) $(CURDIR)/$(LINT) run ./...
	cd cmd/gantry-helm && $(PLAIN) $(CURDIR)/$(LINT) run ./...
	cd cmd/containerimage && $(PLAIN) $(CURDIR)/$(LINT) run ./...

$(LINT): .ci/tools/lint/go.mod .ci/tools/lint/go.sum
	cd .ci/tools/lint && $(PLAIN) $(GO) build -buildvcs=false -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: rooms
rooms: ## list the packages with their files, lines of code and lines of tests
	@printf '%-40s %6s %8s %8s\n' PACKAGE FILES CODE TESTS
	@for d in $$($(GO) list -f '{{.Dir}}' ./...); do \
		code=$$(find $$d -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec cat {} + | wc -l); \
		tests=$$(find $$d -maxdepth 1 -name '*_test.go' -exec cat {} + | wc -l); \
		files=$$(find $$d -maxdepth 1 -name '*.go' ! -name '*_test.go' | wc -l); \
		printf '%-40s %6d %8d %8d\n' .$${d#$(CURDIR)} $$files $$code $$tests; \
	done
	@$(PLAIN) $(GO) test -vet=off -count=1 -v -run '^(TestWeight|TestFloors|TestFileCycles)$$' . | sed -n 's/^ *[a-z]*_test.go:[0-9]*: //p'

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: clean
clean: ## remove everything that was built, and the output of the demo
	rm -rf $(BIN)
