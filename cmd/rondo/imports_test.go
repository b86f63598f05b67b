package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

const (
	module = "github.com/rondo-db/rondo"
	root   = "../.." // of the module, from here
)

// rooms says which rooms of the house the packages in a folder may import. A folder stands for
// those below it too, unless they have a line of their own; DIR/* is a line for each folder in DIR
// that has none. "=DIR" allows the package in DIR and none below it, "DIR/*" each package in DIR and
// none below those. A package may import what stands in its own folder below it only if its line
// says so. Imports go one way: cmd -> cluster, receivers, query -> engine -> wal, rra.
var rooms = map[string][]string{
	"internal/access":        {"engine", "rra"},
	"internal/allowance":     {},
	"internal/conffile":      {},
	"internal/enginebench":   {"engine", "rra", "wal"},
	"internal/foreign":       {},
	"internal/glob":          {},
	"internal/histogram":     {},
	"internal/limit":         {},
	"internal/loglimit":      {},
	"internal/owner":         {"internal/rrdtooltest"},
	"internal/sockets":       {"internal/foreign", "internal/loglimit", "internal/sleep"},
	"internal/pagetest":      {},
	"internal/replace":       {"internal/owner"},
	"internal/rrdtooltest":   {"internal/ramtemp"},
	"internal/seedtest":      {},
	"internal/ramtemp":       {},
	"internal/natsconn":      {"internal/loglimit", "internal/natstest"},
	"internal/natstest":      {"internal/ramtemp", "internal/rrdtooltest"},
	"internal/localcluster":  {},
	"internal/abreast":       {},
	"internal/sleep":         {},
	"internal/template":      {},
	"internal/chaos":         {"internal/localcluster", "internal/rrdtooltest", "receivers", "rra"},
	"internal/text":          {},
	"internal/quantity":      {},
	"rra":                    {"rra", "internal/text", "internal/rrdtooltest", "internal/seedtest"},
	"rra/rows":               {"internal/seedtest"},
	"wal":                    {"wal", "internal/histogram", "internal/owner", "internal/ramtemp", "internal/seedtest"},
	"wal/stream":             {"wal/stream", "=wal", "wal/waltest", "internal/seedtest", "internal/sleep"},
	"wal/jetstream":          {"=wal", "internal/abreast", "wal/stream", "wal/waltest", "internal/natsconn", "internal/natstest", "internal/sleep"},
	"engine":                 {"engine", "rra", "=wal", "wal/waltest", "internal/record", "internal/text", "internal/histogram", "internal/loglimit", "internal/owner", "internal/sleep"},
	"receivers":              {"internal", "engine", "rra"},
	"receivers/*":            {"=receivers", "receivers/internal", "internal", "engine", "rra"}, // a protocol: neither the sink nor another one
	"receivers/internal":     {"=receivers", "receivers/internal", "internal", "engine", "rra"},
	"receivers/sink":         {"=receivers", "receivers/internal/steps", "internal/allowance", "internal/glob", "internal/loglimit", "internal/sleep", "internal/text", "engine", "rra"},
	"receivers/receivertest": {"=receivers", "receivers/sink", "engine", "rra", "internal/ramtemp"},

	"query":                    {"engine", "rra"},
	"query/graphdata":          {"=query", "query/rrd/attime", "query/rrd/numeral", "engine", "rra"},
	"query/graph":              {"=query", "query/graph/canvas", "query/graphdata", "query/rrd/attime", "query/rrd/numeral", "engine", "rra"},
	"query/graph/canvas":       {"query/graph/canvas"},
	"query/search":             {"internal/quantity", "engine", "rra"},
	"query/hosts":              {"query/search", "engine", "rra"},
	"query/charts":             {"internal/quantity"},
	"query/rpc":                {"=query", "query/charts", "query/dashboards", "query/graphdata", "query/hosts", "query/search", "query/rpc", "query/rrd/attime", "query/rrd/rrdtool", "query/rrd/transfer", "query/unixsocket", "internal", "engine", "rra"},
	"query/dashboards":         {"internal/access", "internal/text", "query/rrd/rrdtool"},
	"cluster/shared":           {"=query/dashboards", "cluster/coord", "=engine/core", "internal/access", "internal/loglimit", "internal/sleep"},
	"query/prom":               {"=query", "internal", "engine", "rra"},
	"query/partial":            {"engine"},
	"cluster/peer":             {"internal/limit", "internal/record", "query/partial", "engine", "rra", "wal"},
	"query/rpc/rondov1":        {"query/rpc/types/typesv1", "query/rpc/wire"},
	"query/rpc/types":          {"query/rpc/types/typesv1", "=engine/core", "rra"},
	"query/rpc/types/typesv1":  {},
	"query/rpc/wire":           {},
	"query/rpc/client":         {"query/rpc/rondov1", "query/rpc/types/typesv1", "internal/sleep"},
	"query/unixsocket":         {},
	"query/web":                {"query", "internal", "engine", "rra"},
	"query/prom/api":           {"=query/prom", "query/prom/bound", "internal", "engine"},
	"query/prom/bound":         {},
	"cluster/spread":           {"=query/prom", "query/prom/bound", "query/partial", "internal/access", "internal/limit", "engine"},
	"query/prom/alerts":        {"query/prom/bound", "internal/conffile", "internal/loglimit", "internal/replace", "internal/sleep", "internal/template", "query/rpc/rondov1", "query/rpc/types/typesv1", "=engine/core"},
	"query/prom/promtest":      {},
	"query/rrd":                {},
	"query/rrd/attime":         {"query/rrd/numeral"},
	"query/rrd/numeral":        {},
	"query/rrd/rrdfile":        {"query/rrd/numeral", "rra"},
	"query/rrd/reshape":        {"engine", "rra"},
	"query/rrd/transfer":       {"query/rrd/rrdfile", "engine", "rra"},
	"query/rrd/rrdtool":        {"=query", "query/graph", "query/graphdata", "query/rrd/attime", "query/rrd/numeral", "query/rrd/reshape", "query/rrd/rrdfile", "query/rrd/transfer", "internal/text", "engine", "rra"},
	"query/rrd/rrdcached":      {"=query", "query/rrd/numeral", "query/rrd/rrdcached/wire", "query/rrd/rrdfile", "query/rrd/rrdtool", "query/rrd/transfer", "query/unixsocket", "internal", "engine", "rra"},
	"query/rrd/rrdcached/wire": {},
	"query/rrd/rrdclient":      {"=query", "query/rrd/rrdcached/wire", "query/rrd/rrdfile", "query/rrd/transfer", "engine", "rra"},

	"contrib":                              {},
	"contrib/cluster":                      {"internal/localcluster", "internal/rrdtooltest"},
	"cmd/rondo":                            {"=cmd/rondo/internal/cmd"},
	"cluster/placement":                    {},
	"cluster/copying":                      {"=engine/core", "internal/abreast", "rra", "=wal", "internal/sleep"},
	"cluster/coord":                        {"cluster/placement", "=wal"},
	"cluster/coord/coordtest":              {"cluster/coord"},
	"cluster/operate":                      {"cluster/coord", "cluster/coord/coordtest", "cluster/placement", "=wal", "wal/jetstream", "internal/sleep"},
	"cluster/router":                       {"engine/core", "internal/abreast", "rra", "=wal", "internal/sleep"},
	"cluster/detour":                       {"=engine/core", "cluster/router", "engine/enginetest", "internal/loglimit", "internal/owner", "internal/record", "internal/sleep", "rra", "=wal"},
	"cluster/natskv":                       {"cluster/coord", "internal/natsconn"},
	"cluster/node":                         {"cluster/coord", "cluster/placement", "engine/core", "=wal", "internal/loglimit", "internal/owner", "internal/replace", "internal/sleep"},
	"engine/internal/boltfile":             {"engine/internal/damage", "internal/record", "internal/owner"},
	"engine/internal/damage":               {},
	"engine/internal/held":                 {"internal/record", "rra"},
	"engine/internal/pending":              {"engine/internal/memory", "rra"},
	"engine/internal/memory":               {},
	"internal/record":                      {"rra"},
	"engine/internal/rowblock":             {"internal/record", "rra"},
	"engine/enginetest":                    {"engine", "rra", "wal", "internal/ramtemp"},
	"cmd/rondo/internal/cli":               {"cmd/rondo/internal/backend", "cmd/rondo/internal/chart", "cmd/rondo/internal/config", "cmd/rondo/internal/table", "internal/conffile", "internal/text", "query", "receivers", "engine", "rra", "=wal"},
	"cmd/rondo/internal/cmd":               {"cmd/rondo/internal", "query"},
	"cmd/rondo/internal/cmd/*":             {"cmd/rondo/internal/*", "cmd/rondo/internal/server/middleware", "receivers", "query", "cluster", "internal", "engine", "rra", "=wal"}, // a group of commands: no other one
	"cmd/rondo/internal/cmd/config":        {"=cmd/rondo/internal/cmd/serve", "cmd/rondo/internal/*", "receivers", "query", "internal", "engine", "rra"},
	"cmd/rondo/internal/rondotest":         {"cmd/rondo/internal", "internal/rrdtooltest"},
	"cmd/rondo/internal":                   {"cmd/rondo/internal", "receivers", "query", "cluster", "internal", "engine", "rra"},
	"cmd/rondo/internal/backups":           {"internal/conffile", "internal/owner", "internal/replace", "internal/sleep", "query/dashboards", "query/prom/alerts", "engine"},
	"cmd/rondo/internal/clustered":         {"cmd/rondo/internal/operator", "cluster", "engine", "internal/loglimit", "internal/natsconn", "internal/owner", "internal/replace", "internal/sleep", "query/partial", "wal"},
	"cmd/rondo/internal/server/figures":    {"cluster", "cmd/rondo/internal/backups", "cmd/rondo/internal/clustered", "cmd/rondo/internal/metrics", "cmd/rondo/internal/server/middleware", "engine", "internal", "query", "receivers", "rra"},
	"cmd/rondo/internal/server/middleware": {"internal/access", "internal/histogram", "internal/limit", "internal/sockets", "query/prom/api", "query/rpc", "query/web", "receivers"},
	"cmd/rondo/internal/operator":          {"cluster", "internal/access", "query/rpc/rondov1", "wal/jetstream"},
	"cmd/rondo/internal/backend":           {"query", "internal", "engine", "rra", "wal"},
	"cmd/rondo/internal/metrics":           {},
	"cmd/rondo/internal/table":             {"internal/text"},
	"cmd/rondo/internal/config":            {"internal/conffile"},
	"cmd/rondo/internal/chart":             {"internal/quantity"},
	"cmd/rondo/internal/manual":            {},
	"cmd/rondo/internal/live":              {"cmd/rondo/internal/chart"},
	"cmd/rondo/internal/top":               {"cmd/rondo/internal/chart", "internal/quantity", "query/rpc/rondov1", "internal/text", "rra"},
}

// testOnly are packages that none but tests (and the first packages listed) may import.
var testOnly = map[string][]string{
	"internal/pagetest":                          nil,
	"internal/rrdtooltest":                       {"internal/natstest", "cmd/rondo/internal/rondotest"},
	"cmd/rondo/internal/rondotest":               nil,
	"internal/seedtest":                          {},
	"internal/natstest":                          nil,
	"internal/ramtemp":                           {"internal/rrdtooltest", "internal/natstest", "engine/enginetest", "wal/waltest", "receivers/receivertest"},
	"engine/enginetest":                          nil,
	"wal/waltest":                                nil,
	"wal/stream/streamtest":                      nil,
	"cluster/coord/coordtest":                    nil,
	"receivers/receivertest":                     nil,
	"query/prom/promtest":                        nil,
	"internal/enginebench":                       {"cmd"},
	"cmd/rondo/internal/webconfig/webconfigtest": {"cmd"},
}

// doors names modules that only some packages may import, and these packages.
var doors = map[string][]string{
	"go.etcd.io/bbolt":                     {"engine/internal/boltfile"},
	"go.etcd.io/bbolt/errors":              {"engine/internal/boltfile"},
	"github.com/nats-io/nats.go":           {"internal/natsconn", "internal/natstest", "wal/jetstream", "cluster/natskv", "cmd/rondo/internal/clustered"},
	"github.com/nats-io/nats.go/jetstream": {"internal/natstest", "wal/jetstream", "cluster/natskv"},
}

// TestImports reads the sources itself instead of asking go list, so that a cached result notices a
// changed file.
func TestImports(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == "query/rpc/gen" || rel == "bench" || rel == "docs") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		files++
		return checkFile(t, name, rel)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files found", files)
	}
}

// mostFiles is how many files a folder below cmd/rondo has, tests counted.
const mostFiles = 30

func TestFoldersOfCommand(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		entries, err := os.ReadDir(name)
		files := slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() })
		if len(files) > mostFiles {
			t.Errorf("%s has %d files, at most %d: divide it by subject", name, len(files), mostFiles)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, name, rel string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	dir, test := path.Dir(rel), strings.HasSuffix(rel, "_test.go")
	room := roomOf(dir)
	if room == "" {
		t.Errorf("%s: the folder is no room of the house: add it to the table here", rel)
		return nil
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if open, guarded := doors[imported]; guarded && !test && !slices.Contains(open, dir) {
			t.Errorf("%s imports %s: %v is the only door to it", rel, imported, open)
		}
		other, ok := strings.CutPrefix(imported, module+"/")
		switch {
		case !ok || other == dir:
		case test && !within(dir, "rra") && !within(dir, "wal"):
			// Tests of a room may use what is below it, suites included, which the compiler keeps
			// free of cycles.
		case !slices.ContainsFunc(rooms[room], func(r string) bool { return allows(r, other) }):
			t.Errorf("%s imports %s; %s may import %v", rel, imported, room, rooms[room])
		case !test && !allowedHelper(dir, other):
			t.Errorf("%s imports %s, which is for tests", rel, imported)
		}
	}
	return nil
}

// roomOf returns the line of the table that a folder stands under.
func roomOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		for _, room := range []string{dir, path.Dir(dir) + "/*"} {
			if _, ok := rooms[room]; ok {
				return room
			}
		}
	}
	return ""
}

// allows reports whether an entry of the table is about the package other.
func allows(entry, other string) bool {
	if one, ok := strings.CutPrefix(entry, "="); ok {
		return other == one
	}
	if in, ok := strings.CutSuffix(entry, "/*"); ok {
		return path.Dir(other) == in
	}
	return within(other, entry)
}

func within(dir, room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") }

func allowedHelper(dir, other string) bool {
	users, ok := testOnly[other]
	return !ok || within(dir, path.Dir(other)) && strings.HasSuffix(dir, "test") ||
		slices.ContainsFunc(users, func(u string) bool { return within(dir, u) })
}

// embedded are the modules that a program links which embeds the store, and no others.
var embedded = []string{
	module,
	"go.etcd.io/bbolt",
	"github.com/klauspost/compress",
	"github.com/golang/snappy",
	"golang.org/x/sys",
}

// TestNoKubernetes: a version of Prometheus' engine after 0.310 would link Kubernetes' client, and
// so would some packages of this one. Prometheus' client library of metrics comes with the engine.
func TestNoKubernetes(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/rondo")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/prometheus/prometheus/promql") {
		t.Errorf("%d packages, and the engine of PromQL is not among them", len(linked))
	}
	for _, pkg := range linked {
		for _, no := range []string{"k8s.io", "github.com/aws", "github.com/Azure", "cloud.google.com"} {
			if strings.HasPrefix(pkg, no) {
				t.Errorf("rondo links %s", pkg)
			}
		}
	}
}

// mostBytes is how long the program may be, with its symbols and debugging information. What it is
// spent on stands in docs/decisions/0039-size-of-the-program.md.
const mostBytes = 48_000_000

func TestProgramIsSmall(t *testing.T) {
	if testing.Short() && !rrdtooltest.Required() {
		t.Skip("links the program")
	}
	program, err := localcluster.BuildRondo(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", info.Size()); info.Size() > mostBytes && runtime.GOARCH == "amd64" {
		t.Errorf("rondo has %d bytes, at most %d; `go tool nm -size -sort size` says what they are spent on", info.Size(), mostBytes)
	}
}

// TestEmbeddingIsSmall fails when engine, rra or wal link a module that is not in the list.
func TestEmbeddingIsSmall(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}{{end}}",
		"./engine", "./engine/core", "./rra", "./wal")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := strings.Fields(strings.ReplaceAll(string(out), "\n", " "))
	if len(lines) < 6 {
		t.Fatalf("go list printed %q", out)
	}
	for i := 0; i+1 < len(lines); i += 2 {
		pkg, mod := lines[i], lines[i+1]
		if !slices.Contains(embedded, mod) {
			t.Errorf("who embeds the engine links %s of %s", pkg, mod)
		}
		for _, no := range []string{"receivers", "query", "cmd"} {
			if within(pkg, module+"/"+no) {
				t.Errorf("who embeds the engine links %s", pkg)
			}
		}
	}
}
