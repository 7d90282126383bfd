# Releases are built without cgo, so tests and checks run without it too.
export CGO_ENABLED ?= 0
# Without the paths of this clone in what is compiled, a new clone finds all of it in the build cache.
export GOFLAGS ?= -trimpath

VERSION  ?= $(shell scripts/version)
LDFLAGS  := -s -w -X warranty.example/svc/internal/version.build=$(VERSION)
# The browser tag adds the browser tests, which need Chromium.
TAGS     := browser
PACKAGES ?= ./...
FUZZTIME ?= 10s
# Timeout per package, several times the usual duration: a hanging run ends with a stack trace.
TIMEOUT  ?= 30m

# Tools are pinned in their own go.mod, so that the service does not depend on
# what they import.
TOOL     := go tool -modfile=tools/go.mod
SERVICES := scripts/test-services

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build static binaries into bin/
	go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# The files of a release have the time of the commit.
EPOCH    ?= $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASE  ?= bin/release
RUN_RELEASE ?= go run .
.PHONY: release release-check release-test release-compare
release: ## build archives, packages and images into bin/release
	cd tools/release && $(RUN_RELEASE) --root=$(CURDIR) --out=$(abspath $(RELEASE)) --version='$(VERSION)' --ldflags='$(LDFLAGS)' \
		--epoch='$(EPOCH)' --platforms='$(PLATFORMS)'
release-check: ## vet and test the release program
	cd tools/release && go mod tidy -diff && go vet ./... && go test -short ./...
release-test: ## install, upgrade, run and remove the packages and images (root on Debian, network)
	cd tools/release && go test ./...
	scripts/release-test
release-compare: ## check that two clones with empty caches build the same release
	scripts/release-compare

.PHONY: run
run: build ## run the service with demo data
	bin/svcd --demo

.PHONY: test
test: export GOGC ?= 400
test: ## run every test, some of them in part, with SQLite, PostgreSQL, Redis, S3, HAProxy and Chromium
	go build -ldflags=-w -o bin/test/ ./cmd/...
	go build -ldflags=-w -modfile=tools/acme/go.mod -o bin/test/ $(addprefix github.com/letsencrypt/pebble/v2/cmd/,pebble pebble-challtestsrv)
	SVC_TEST_BIN=$(CURDIR)/bin/test $(SERVICES) scripts/test-modules $(COUNT) -timeout=$(TIMEOUT) -tags=$(TAGS) $(PACKAGES)

.PHONY: long
long: export SVC_TEST_LONG = 1
long: TIMEOUT = 120m
long: COUNT = -count=1
long: test ## run every test in full: both databases, every look of every page, new random values (an hour)

.PHONY: feed
feed: ## make 100,000 changes with 16 writers on 3 replicas and check that no reader misses one
	SVC_TEST_FEED=100000 $(SERVICES) go test -count=1 -v -timeout=60m -run='^TestNothingIsMissed$$' ./internal/store
	cd e2e && SVC_TEST_FEED=100000 ../$(SERVICES) go test -count=1 -v -timeout=60m -run='^TestFeedOfThreeServers$$' .

.PHONY: batches
batches: ## create 10,000 warranties in batches, kill svcd in the middle of more, repeat them, and count
	go build -o bin/test/ ./cmd/...
	cd e2e && SVC_TEST_BIN=$(CURDIR)/bin/test SVC_TEST_BATCH=10000 ../$(SERVICES) go test -count=1 -v -timeout=60m -run='^TestKilledBatches$$' .

.PHONY: imports
imports: ## import 10,000 rows as a job, kill svcd three times meanwhile, undo it, and count
	go build -o bin/test/ ./cmd/...
	cd e2e && SVC_TEST_BIN=$(CURDIR)/bin/test SVC_TEST_IMPORT=10000 ../$(SERVICES) go test -count=1 -v -timeout=60m -run='^TestKilledImport$$' .

.PHONY: backups copies
backups: ## back up and restore 200 times on each database while others write
	SVC_TEST_BACKUPS=200 $(SERVICES) go test -count=1 -v -timeout=120m -run='^TestBackupsUnderLoad$$' ./internal/archive
copies: ## copy a million records from SQLite to PostgreSQL and back, and compare all tables
	SVC_TEST_COPIES=1000000 $(SERVICES) go test -count=1 -v -timeout=120m -run='^TestManyRecordsAreCopied$$' ./internal/archive

FOR      ?= 1h
.PHONY: torture torture-short torture-plants
torture: ## inject faults for an hour (FOR=1h) and verify all data
	scripts/torture --for $(FOR) --long
torture-short: ## the same for half a minute
	scripts/torture --for 30s --short --cycles 2
torture-plants: ## check that the harness finds every planted fault
	cd e2e && ../$(SERVICES) go test -count=1 -timeout=$(TIMEOUT) ./torture -plants

.PHONY: race
race: export CGO_ENABLED = 1
race: ## run concurrency-heavy packages with the race detector (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo 'make race needs a C compiler: install gcc' >&2; exit 1; }
	$(SERVICES) go test -timeout=$(TIMEOUT) -race ./internal/limit ./internal/store/... ./internal/service ./internal/jobs

.PHONY: cover
cover: ## run the tests of the main module and write coverage/index.html
	mkdir -p coverage
	$(SERVICES) go test -timeout=$(TIMEOUT) -tags=$(TAGS) -coverpkg=./... -coverprofile=coverage/profile $(PACKAGES)
	go tool cover -html=coverage/profile -o coverage/index.html
	go tool cover -func=coverage/profile | tail -n 1

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -e; grep -rHoE --include='*_test.go' --exclude-dir=bench --exclude-dir=e2e '^func Fuzz\w+' . | sed 's/:func / /' | sort | \
	while read -r file target; do \
		echo "== $$target in $$(dirname "$$file")"; \
		go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; \
	done

.PHONY: generate update-golden
generate: ## rewrite the generated files from the code (review the diff)
	go test -count=1 -run='^TestGeneratedFiles$$' . -update
update-golden: generate

.PHONY: screenshots
screenshots: ## update the screenshots in docs/screenshots
	mkdir -p docs/screenshots
	cd e2e && SVC_SCREENSHOTS=$(CURDIR)/docs/screenshots ../$(SERVICES) \
		go test -count=1 -tags=$(TAGS) -run='^(TestPictures|TestLabelsOnPaper|TestSlipsAndCertificatesOnPaper)$$' ./browser

.PHONY: fmt
fmt: ## format the code
	gofmt -w .

.PHONY: vet
vet: ## run go vet
	go vet -tags=$(TAGS) ./...
	cd e2e && go vet -tags=$(TAGS),mcpconformance ./...

.PHONY: man
man: ## write the man pages into bin/man
	go run ./cmd/svc man bin/man
	go run ./cmd/svcd man bin/man

.PHONY: mcp-conformance
mcp-conformance: ## test MCP with the official suite, the inspector and TypeScript clients (npm, network)
	scripts/mcp-conformance

.PHONY: oauth-clients oauth-clients-short
oauth-clients: ## connect MCP clients from npm and PyPI with OAuth, and run the suite's authorization scenarios (network)
	scripts/oauth-clients
oauth-clients-short: ## the same without the suite, with the clients that can be installed
	scripts/oauth-clients --short

.PHONY: lint
lint: ## run golangci-lint with .golangci.yml on both modules
	go build -modfile=tools/go.mod -o bin/tools/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	GOWORK=$(CURDIR)/scripts/modules.work bin/tools/golangci-lint run ./... ./e2e/...

.PHONY: lint-tools
lint-tools: ## vet and lint the benchmark, its peers and the tools, which make ci does not, because it takes minutes
	cd bench && go vet ./... && go tool -modfile=../tools/go.mod golangci-lint run ./...
	cd tools/release && go tool -modfile=../go.mod golangci-lint run ./...
	cd tools/s3server && go vet ./...

.PHONY: bench bench-quick bench-check
bench: ## compare svcd with its peers at a million records (20 minutes, 16 GB of disk)
	@$(SERVICES) true # installs PostgreSQL if missing and running as root
	cd bench && go run . $(BENCH)
bench-quick: ## the same with less data (3 minutes)
	@$(SERVICES) true
	cd bench && go run . --records 100000 --growth 10000 --rounds 1 --length 500ms $(BENCH)
bench-check: ## vet and test the benchmark module, without the peers
	cd bench && go mod tidy -diff && go vet . ./internal/... && go test . ./internal/...

.PHONY: page-figures
page-figures: ## Lighthouse, sizes and delays of the web app's pages, on an idle machine (4 minutes, npm, network)
	scripts/page-figures

.PHONY: alerts
alerts: ## check and test the alert rules with promtool (Debian package prometheus)
	cd deploy && promtool check rules alerts.yml && promtool test rules alerts_test.yml

.PHONY: vuln
vuln: ## check for known vulnerabilities (queries the Go vulnerability database)
	$(TOOL) govulncheck ./...

.PHONY: ci
ci: ## run everything that has to pass before a change lands
	CI=true bash .ci/run

.PHONY: clean
clean: ## remove build output
	rm -rf bin coverage
