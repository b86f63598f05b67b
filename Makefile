.PHONY: build rondo-bench deb rpm tar check test fuzz crash interop bench million databases clean

build:
	CGO_ENABLED=0 go build -o rondo ./cmd/rondo

# Compares rondo with the programs that it stands in for: docs/performance.md.
rondo-bench: build
	CGO_ENABLED=0 go build -o rondo-bench ./cmd/rondo-bench

# Packages, into dist/: docs/install.md.
deb rpm tar:
	contrib/packages/build $@

# What CI runs, and nothing else.
check:
	.ci/run

test:
	go test ./...

# Longer than in check; set the variables to go on for as long as you like.
fuzz:
	RONDO_FUZZTIME=$${RONDO_FUZZTIME:-1m} .ci/run fuzz

crash:
	RONDO_CRASHES=$${RONDO_CRASHES:-1000} .ci/run crash

interop:
	RONDO_PROGRAMS=$${RONDO_PROGRAMS:-5000} .ci/run peers interop

# The figures of the README: 100,000 series for an hour; a million for five minutes.
bench: build
	./rondo bench ingest

million: build
	./rondo bench million

# The database that a test of later releases opens: docs/upgrading.md says when this is allowed.
databases:
	go test ./engine/core -count=1 -run '^TestDatabasesOfReleases$$' -write-databases

clean:
	rm -rf rondo rondo-bench dist
