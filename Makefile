.PHONY: build rondo-bench deb rpm tar image release check lint test race interop soak vulnerable bench million databases clean

build:
	CGO_ENABLED=0 go build -o rondo ./cmd/rondo

# Compares rondo with the programs that it stands in for: bench/README.md.
rondo-bench: build
	CGO_ENABLED=0 go build -C bench -o ../rondo-bench .

# Packages, into dist/: docs/install.md.
deb rpm tar image:
	contrib/packages/build $@

# All of them for all processors, and their sums.
release:
	rm -rf dist
	GOARCH=amd64 contrib/packages/build
	GOARCH=arm64 contrib/packages/build
	GOARCH=arm contrib/packages/build
	cd dist && sha256sum rondo* > SHA256SUMS

# What CI runs, and nothing else.
check:
	.ci/run

# Seeds that nothing has tried before, for an hour.
soak:
	.ci/soak 60

# Parts of the gate.
lint:
	.ci/run format house tidy vet fix staticcheck errcheck generated

test:
	go test ./...

race:
	.ci/run race

# Every test beside the real programs, which peers installs as root.
interop:
	.ci/run peers tests

vulnerable:
	.ci/run vulnerable

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
