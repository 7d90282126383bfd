# What ships is built without cgo, so that is what is tested and checked too.
export CGO_ENABLED ?= 0

VERSION  ?= $(shell scripts/version)
LDFLAGS  := -s -w -X warranty.example/svc/internal/version.build=$(VERSION)
# The browser tag adds the tests of the pages, which want Chromium.
TAGS     := browser
PACKAGES ?= ./...
FUZZTIME ?= 10s
# What the tests of one package may take, several times what they do: a run that hangs ends and says where.
TIMEOUT  ?= 12m

# Tools have a go.mod of their own: their versions are pinned there, and what they
# import is no business of the service's.
TOOL     := go tool -modfile=tools/go.mod
SERVICES := scripts/test-services

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build static binaries into bin/
	go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: run
run: build ## run the service with a believable demo in it
	bin/svcd --demo

.PHONY: test
test: ## run every test, on SQLite, PostgreSQL, Redis, HAProxy and Chromium
	go build -o bin/test/ ./cmd/...
	SVC_TEST_BIN=$(CURDIR)/bin/test $(SERVICES) go test -timeout=$(TIMEOUT) -tags=$(TAGS) $(PACKAGES)

.PHONY: freeze
freeze: ## freeze a PostgreSQL backend for three minutes and hold totals against rows
	SVC_TEST_FREEZE=3m $(SERVICES) go test -count=1 -v -timeout=10m -run='^TestAFrozenBackendIsCounted$$' ./internal/store

FOR      ?= 1h
.PHONY: torture torture-short torture-plants
torture: ## break everything that can break, for an hour (FOR=1h), and read everything back
	scripts/torture --for $(FOR) --long
torture-short: ## the same for a minute
	scripts/torture --for 60s --short --cycles 2
torture-plants: ## look for every fault that is planted into the service
	$(SERVICES) go test -count=1 -timeout=$(TIMEOUT) ./e2e/torture -plants

.PHONY: race
race: export CGO_ENABLED = 1
race: ## look for data races where goroutines meet (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo 'make race needs a C compiler: install gcc' >&2; exit 1; }
	$(SERVICES) go test -timeout=$(TIMEOUT) -race ./internal/limit ./internal/store ./internal/service

.PHONY: cover
cover: ## run every test and write coverage/index.html
	mkdir -p coverage
	$(SERVICES) go test -timeout=$(TIMEOUT) -tags=$(TAGS) -coverpkg=./... -coverprofile=coverage/profile $(PACKAGES)
	go tool cover -html=coverage/profile -o coverage/index.html
	go tool cover -func=coverage/profile | tail -n 1

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -e; grep -rHoE --include='*_test.go' --exclude-dir=bench '^func Fuzz\w+' . | sed 's/:func / /' | sort | \
	while read -r file target; do \
		echo "== $$target in $$(dirname "$$file")"; \
		go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; \
	done

.PHONY: generate update-golden
generate: ## rewrite the generated and golden files from the code (look at the diff)
	@# only the packages whose tests define -update: the others would refuse it
	$(SERVICES) go test -tags=$(TAGS) \
		$$(grep -rlE --include='*_test.go' 'flag\.Bool(Var)?\(.*"update"' . | xargs -n1 dirname | sort -u) -update
update-golden: generate

.PHONY: screenshots
screenshots: ## take the pictures of the pages anew, into docs/screenshots
	mkdir -p docs/screenshots
	SVC_SCREENSHOTS=$(CURDIR)/docs/screenshots $(SERVICES) go test -count=1 -tags=$(TAGS) -run='^TestPictures$$' ./e2e

.PHONY: fmt
fmt: ## format the code
	gofmt -w .

.PHONY: vet
vet: ## go vet
	go vet -tags=$(TAGS) ./...

.PHONY: man
man: ## Write svc's man pages into bin/man
	go run ./cmd/svc man bin/man

.PHONY: mcp-conformance
mcp-conformance: ## hold MCP against the official suite, the inspector and TypeScript clients (npm, network)
	scripts/mcp-conformance

.PHONY: lint
lint: ## golangci-lint, with the rules of .golangci.yml
	$(TOOL) golangci-lint run ./...

.PHONY: bench bench-quick bench-check
bench: ## measure svcd beside its peers at a million records (15 minutes, 10 GB of disk)
	@$(SERVICES) true # installs PostgreSQL where it is missing and may be
	cd bench && go run . $(BENCH)
bench-quick: ## the same, small and rough (2 minutes)
	@$(SERVICES) true
	cd bench && go run . --records 100000 --growth 10000 --rounds 1 --length 500ms $(BENCH)
bench-check: ## format, vet and test the benchmark, which is a module of its own
	cd bench && go mod tidy -diff && go vet ./... && go test ./... && go tool -modfile=../tools/go.mod golangci-lint run ./...

.PHONY: vuln
vuln: ## look for known vulnerabilities (asks the Go vulnerability database)
	$(TOOL) govulncheck ./...

.PHONY: ci
ci: ## everything that has to pass before a change lands
	CI=true bash .ci/run

.PHONY: clean
clean: ## remove what the targets above made
	rm -rf bin coverage
