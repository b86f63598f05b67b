.PHONY: build rondo-bench deb rpm tar check soak test bench million databases clean

build:
	CGO_ENABLED=0 go build -o rondo ./cmd/rondo

# Compares rondo with the programs that it stands in for: bench/README.md.
rondo-bench: build
	CGO_ENABLED=0 go build -C bench -o ../rondo-bench .

# Packages, into dist/: docs/install.md.
deb rpm tar:
	contrib/packages/build $@

# What CI runs, and nothing else.
check:
	.ci/run

# Seeds that nothing has tried before, for an hour.
soak:
	.ci/soak 60

test:
	go test ./...

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
