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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./bin/gantry and ./bin/gantry-helm
	$(PLAIN) $(GO) build -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))' -o $(BIN)/gantry ./cmd/gantry
	$(PLAIN) $(GO) build -C cmd/gantry-helm -ldflags '-s -w' -o $(CURDIR)/$(BIN)/gantry-helm .

# The platforms of the container image, and where it is pushed to (make image IMAGE_PUSH=registry.example.com/tools/gantry:v1).
IMAGE_PLATFORMS ?= linux/amd64,linux/arm64
IMAGE_PUSH ?=
comma := ,
empty :=
list = $(subst $(comma), ,$(1))
# The time of all files of an image or a release is the commit's.
EPOCH = SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)}

# Build the programs for a list of platforms. Those of a release do not record tags, since another clone may have others.
define programs
@set -e; for platform in $(call list,$(1)); do \
	out=$(CURDIR)/$(BIN)/programs/$$(echo $$platform | tr / -)/; export GOOS=$${platform%/*} GOARCH=$${platform#*/}; mkdir -p $$out; \
	$(PLAIN) $(GO) build $(if $(VERSION),-buildvcs=false) -ldflags '-s -w$(if $(VERSION), -X main.version=$(VERSION))' -o $$out ./cmd/gantry; \
	$(PLAIN) $(GO) build -C cmd/gantry-helm $(if $(VERSION),-buildvcs=false) -ldflags '-s -w' -o $$out .; \
done
endef

.PHONY: image
image: ## make a container image in ./bin/image, without a container engine; IMAGE_PUSH=HOST/REPOSITORY:TAG also pushes it
	$(call programs,$(IMAGE_PLATFORMS))
	$(PLAIN) $(GO) build -C cmd/packages -o $(CURDIR)/$(BIN)/packages .
	$(PLAIN) $(GO) build -C cmd/containerimage -o $(CURDIR)/$(BIN)/containerimage .
	$(EPOCH) $(BIN)/packages -platforms $(IMAGE_PLATFORMS) -licenses $(BIN)/THIRD_PARTY_LICENSES
	$(EPOCH) $(BIN)/containerimage -programs $(BIN)/programs -platforms $(IMAGE_PLATFORMS) \
		-zoneinfo "$$($(GO) env GOROOT)/lib/time/zoneinfo.zip" -licenses LICENSE,$(BIN)/THIRD_PARTY_LICENSES -to $(BIN)/image -version "$(VERSION)" -revision "$$(git rev-parse HEAD 2>/dev/null)" $(if $(IMAGE_PUSH),-push $(IMAGE_PUSH))

.PHONY: man
man: ## write manual pages to ./bin/man
	rm -rf $(BIN)/man
	TZ=UTC $(EPOCH) $(PLAIN) $(GO) run -tags man ./cmd/gantry man $(BIN)/man

.PHONY: completions
completions: ## write completions for shells to ./bin/completions
	@mkdir -p $(BIN)/completions
	@set -e; for shell in bash:gantry.bash zsh:_gantry fish:gantry.fish powershell:gantry.ps1; do \
		$(PLAIN) $(GO) run -tags man ./cmd/gantry completion $${shell%:*} > $(BIN)/completions/$${shell#*:}; \
	done

# The platforms of a release, the SSH key that signs its checksums, where its files will be, and who packages it.
RELEASE_PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x,darwin/amd64,darwin/arm64,windows/amd64
RELEASE_KEY ?=
BASE_URL ?=
MAINTAINER ?= The Gantry maintainers <maintainers@users.noreply.github.com>
release_images = $(subst $(empty) $(empty),$(comma),$(filter linux/%,$(call list,$(RELEASE_PLATFORMS))))
packages = $(EPOCH) $(BIN)/packages -version "$(VERSION)" -revision "$$(git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null)" -maintainer "$(MAINTAINER)" \
	-platforms $(RELEASE_PLATFORMS) -key "$(RELEASE_KEY)" -base-url "$(BASE_URL)" $(if $(release_images),-image $(BIN)/image)

.PHONY: release
release: ## make all files of a release in ./bin/release: make release VERSION=v1.2.3 RELEASE_KEY=FILE
	$(PLAIN) $(GO) build -C cmd/packages -o $(CURDIR)/$(BIN)/packages .
	@$(packages) -check
	$(call programs,$(RELEASE_PLATFORMS))
	$(MAKE) --no-print-directory man completions
	$(if $(release_images),$(MAKE) --no-print-directory image IMAGE_PLATFORMS=$(release_images))
	@$(packages)

.PHONY: release-test
release-test: ## check the files in ./bin/release; INSTALL=1 installs the deb on this machine, uses it and removes it
	cd cmd/packages && GANTRY_TEST_RELEASE=$(CURDIR)/$(BIN)/release GANTRY_TEST_INSTALL=$(INSTALL) $(PLAIN) $(GO) test -vet=off -count=1 -v -run TestRelease .

.PHONY: release-check
release-check: ## make a release twice, in two clones of this commit, and compare all files
	rm -rf $(BIN)/check
	@set -e; for clone in first second/clone; do \
		git clone -q . $(BIN)/check/$$clone; \
		$(MAKE) --no-print-directory -C $(BIN)/check/$$clone release VERSION=$(or $(VERSION),v0.0.0) RELEASE_PLATFORMS=$(RELEASE_PLATFORMS); \
	done
	diff $(BIN)/check/first/bin/release/SHA256SUMS $(BIN)/check/second/clone/bin/release/SHA256SUMS
	@echo "both releases are the same"
	rm -rf $(BIN)/check

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

.PHONY: security
security: ## run the tests of all security cases, and print a report of them; SECURITY=long in full length
	GANTRY_TEST_SECURITY=$(or $(SECURITY),short) $(PLAIN) $(GO) test -vet=off -ldflags='-s -w' -timeout 30m -count 1 -run TestSecurityCasesRun -v .

.PHONY: test-long
test-long: ## run all tests in full length, without the race detector
	$(PLAIN) $(GO) test -vet=off -ldflags='-s -w' -timeout 30m $(only) $(PACKAGES)
	cd cmd/bench && $(PLAIN) $(GO) test -vet=off ./...
	cd cmd/gantry-helm && $(PLAIN) $(GO) test -vet=off ./...
	cd cmd/containerimage && $(PLAIN) $(GO) test -vet=off ./...
	cd cmd/packages && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/crdcheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/deploycheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/hostscheck && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/deltacorpus && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/conformance && $(PLAIN) $(GO) test -vet=off ./...
	cd .ci/tools/fuzz && $(PLAIN) $(GO) test -vet=off ./...

.PHONY: hardening
hardening: ## run everything that attacks the program, and report it in ./bin/hardening.md: faults, crashes, bit flips, histories, registries, security cases
	.ci/hardening

.PHONY: load
load: ## run 50,000 images through every workflow, random faults, a slow network, and 200 clients of gantry archive serve; takes half an hour
	@mkdir -p $(BIN) && rm -f $(BIN)/load.md
	GANTRY_LOAD=$(CURDIR)/$(BIN)/load.md $(PLAIN) $(GO) test -vet=off -ldflags='-s -w' -timeout 2h -count=1 -parallel 1 -v ./mirror/load

.PHONY: supply-chain
supply-chain: ## check modules, pinned tools, licenses, known vulnerabilities, reproducible programs, and that tests use only loopback (PACKAGES=./pkg/...)
	.ci/supply-chain

# How long each fuzz target runs, which ones as a regular expression (FUZZ='^pkg/delta' or FUZZ='FuzzParse$$'), one part of them
# (FUZZPART=3/12), and other flags (bin/fuzz -help).
FUZZTIME ?= 30s
FUZZ ?=
FUZZPART ?= 0/1
FUZZFLAGS ?=

.PHONY: fuzz
fuzz: ## fuzz every parser of foreign bytes, FUZZTIME=30s each, and write a report to bin/fuzz.md; all take half an hour: FUZZ=REGEXP, FUZZPART=N/M
	@mkdir -p $(BIN)
	cd .ci/tools/fuzz && $(PLAIN) $(GO) build -buildvcs=false -o $(CURDIR)/$(BIN)/fuzz .
	$(PLAIN) $(BIN)/fuzz -time $(FUZZTIME) -run '$(FUZZ)' -part $(FUZZPART) $(FUZZFLAGS) -o $(BIN)/fuzz.md

.PHONY: demo
demo: demo-began build ## mirror sample catalogs and releases directly and over signed disks, check the result, and print the time of each step
	$(PLAIN) $(GO) run ./cmd/demo -gantry $(BIN)/gantry -built $$(($$(date +%s) - $$(cat $(BIN)/demo-began)))

.PHONY: demo-began
demo-began:
	@mkdir -p $(BIN) && date +%s > $(BIN)/demo-began

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

.PHONY: compact-corpus
compact-corpus: build ## build images of real programs and measure archives of them with each mode of --compact; needs 13 GB in DELTA_CORPUS=DIR and hours
	cd .ci/tools/deltacorpus && $(PLAIN) $(GO) build -o $(CURDIR)/$(BIN)/deltacorpus .
	mkdir -p $(DELTA_CORPUS)
	-$(BIN)/deltacorpus build -compact -dir $(DELTA_CORPUS)
	$(BIN)/deltacorpus compact -dir $(DELTA_CORPUS) -gantry $(BIN)/gantry -zstd >$(BIN)/compact.md

.PHONY: bench-go
bench-go: ## run the Go benchmarks of single functions
	$(GO) test -run '^$$' -bench . -benchmem ./...

# A room is a package of one verb, such as ./mirror/removal.
PKG ?=

# The packages that attack the program. They test no room, and take as long as all rooms of mirror together: make check
# tests them only if PKG names no other.
MATRICES := faults|flips|histories|load|registries

.PHONY: check
check: $(LINT) ## check the format, lint and short tests of some packages: make check PKG=./mirror/...
	@test -n "$(PKG)" || { echo 'say which packages: make check PKG=./mirror/...' >&2; exit 2; }
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' $(PKG))); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }
	$(PLAIN) $(LINT) run $(PKG)
	@list=$$($(GO) list $(PKG)); rooms=$$(echo "$$list" | grep -vE '/mirror/($(MATRICES))$$'); \
		$(PLAIN) $(GO) test -short -vet=off -ldflags='-s -w' $${rooms:-$$list}

.PHONY: lint
lint: $(LINT) ## run golangci-lint
	$(PLAIN) $(LINT) run ./...
	cd cmd/bench && $(PLAIN) $(CURDIR)/$(LINT) run ./...
	cd cmd/gantry-helm && $(PLAIN) $(CURDIR)/$(LINT) run ./...
	cd cmd/containerimage && $(PLAIN) $(CURDIR)/$(LINT) run ./...
	cd cmd/packages && $(PLAIN) $(CURDIR)/$(LINT) run ./...

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
