//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A verbStep is a command of a database, and its standard input. {FOLDER} is a folder of its own.
type verbStep struct{ args, stdin string }

// verbSteps are the steps of each command of `rondo --help`, run in order. A command without steps
// touches no database, or says why it works on files alone.
var verbSteps = []struct {
	command string
	steps   []verbStep
}{
	{"create", []verbStep{{args: "create lab/a.rrd" + madeLike}, {args: "create lab/b.rrd" + madeLike}, {args: "create lab/a.rrd -O" + madeLike}, {args: "create lab/c.rrd DS:x"}, {args: "create lab/s.rrd --source lab/a.rrd --template lab/b.rrd"}}},
	{"update", []verbStep{{args: "update lab/a.rrd 1000000010:1 1000000020:2.5"}, {args: "update lab/none.rrd 1000000010:1"}, {args: "update lab/a.rrd 1000000005:1"}, {args: "update lab/b.rrd -t x 1000000010:7"}}},
	{"updatev", []verbStep{{args: "updatev lab/a.rrd 1000000030:3 1000000040:4"}}},
	{"fetch", []verbStep{{args: "fetch lab/a.rrd AVERAGE -s 1000000000 -e 1000000040"}, {args: "fetch lab/none AVERAGE"}, {args: "fetch lab/a.rrd"}}},
	{"first", []verbStep{{args: "first lab/a.rrd"}, {args: "first lab/a.rrd --rraindex 7"}}},
	{"last", []verbStep{{args: "last lab/a.rrd"}}},
	{"lastupdate", []verbStep{{args: "lastupdate lab/a.rrd"}}},
	{"info", []verbStep{{args: "info lab/a.rrd"}, {args: "info"}}},
	{"list", []verbStep{{args: "list lab"}, {args: "list -r lab"}, {args: "list nosuch"}}},
	{"xport", []verbStep{{args: "xport -s 1000000000 -e 1000000040 DEF:v=lab/a.rrd:x:AVERAGE XPORT:v:out"}, {args: "xport --json DEF:v=lab/none.rrd:x:AVERAGE XPORT:v"}}},
	{"graph", []verbStep{{args: "graph {FOLDER}/g.png -s 1000000000 -e 1000000040 DEF:v=lab/a.rrd:x:AVERAGE LINE:v#ff0000:x"}, {args: "graph {FOLDER}/none.png DEF:v=lab/none.rrd:x:AVERAGE LINE:v#ff0000"}, {args: "graph - -a CSV -s 1000000000 -e 1000000040 DEF:v=lab/a.rrd:x:AVERAGE LINE:v#ff0000:x"}, {args: "graph {FOLDER}/g.png --lazy -s 1000000000 -e 1000000040 DEF:v=lab/a.rrd:x:AVERAGE LINE:v#ff0000:x PRINT:v:MAX:%lf"}, {args: "graph {FOLDER}/no/g.png DEF:v=lab/a.rrd:x:AVERAGE LINE:v#ff0000"}, {args: "graph {FOLDER}/g.png DEF:v={FOLDER}/g.png:x:AVERAGE LINE:v#ff0000"}}},
	{"graphv", []verbStep{{args: "graphv {FOLDER}/g.svg -a SVG -s 1000000000 -e 1000000040 DEF:v=lab/a.rrd:x:AVERAGE LINE:v#ff0000:x PRINT:v:MAX:%lf"}}},
	{"dump", []verbStep{{args: "dump lab/a.rrd"}, {args: "dump lab/a.rrd {FOLDER}/a.xml"}, {args: "dump lab/none.rrd"}}},
	{"restore", []verbStep{{args: "restore {FOLDER}/a.xml lab/r.rrd"}, {args: "restore {FOLDER}/a.xml lab/r.rrd"}, {args: "restore -f - lab/r.rrd", stdin: "<rrd>"}, {args: "restore {FOLDER}/none.xml lab/q.rrd"}}},
	{"tune", []verbStep{{args: "tune lab/r.rrd -h x:77"}, {args: "tune lab/r.rrd -h y:77"}}},
	{"resize", []verbStep{{args: "resize lab/r.rrd 0 GROW 5"}, {args: "info resize.rrd"}}},
	{"alter", []verbStep{{args: "alter lab/r.rrd --add-rra RRA:MIN:0.5:1:10"}, {args: "alter lab/r.rrd --nosuch"}, {args: "info lab/r.rrd"}}},
	{"flushcached", []verbStep{{args: "flushcached lab/a.rrd"}, {args: "flushcached lab/none.rrd"}}},
	{"rrdtool", []verbStep{
		{args: "rrdtool last lab/a.rrd"},
		{args: "rrdtool info lab/a.rrd"},
		{args: "rrdtool -", stdin: "last lab/a.rrd\nupdate lab/a.rrd 1000000050:5\ncd lab\nls\npwd\ndump a.rrd {FOLDER}/p.xml\nrestore {FOLDER}/p.xml p.rrd\nlast p.rrd\nalter p.rrd --add-rra RRA:MIN:0.5:1:10\nquit\n"},
		{args: "- lab", stdin: "lastupdate a.rrd\nnosuch\nalter p.rrd --add-rra RRA:MIN:0.5:1:10\nxport -s 1000000000 -e 1000000040 DEF:v=a.rrd:x:AVERAGE XPORT:v:out\ngraph {FOLDER}/q.png -s 1000000000 -e 1000000040 DEF:v=a.rrd:x:AVERAGE LINE:v#ff0000\n"},
	}},
	{"pipe", []verbStep{{args: "pipe", stdin: "last lab/a.rrd\nupdate lab/a.rrd 1000000060:6\nlast lab/none\nfetch lab/a.rrd AVERAGE -s 1000000000 -e 1000000040\ninfo lab/a.rrd\n"}}},
	{"show", []verbStep{{args: "show lab/a.rrd -s 1000000000 -e 1000000060"}, {args: "show lab/a.rrd --output json -s 1000000000 -e 1000000060"}, {args: "show lab/aa.rrd"}, {args: "show"}}},
	{"plot", []verbStep{{args: "plot lab/a.rrd -s 1000000000 -e 1000000060 --width 60 --height 12 --ascii"}, {args: "plot lab/none"}}},
	{"top", []verbStep{{args: "top --once lab/nosuch"}, {args: "top --once -n 0 lab"}}},
	{"query", []verbStep{{args: "query vector(1)+1 -t 1000000060"}, {args: "query lab_a -t 1000000050 -o json"}, {args: "query sum("}}},
	{"metadata", []verbStep{{args: "metadata lab"}, {args: "metadata lab -o json"}}},
	{"notes", []verbStep{{args: "notes"}}},
	{"policy", []verbStep{{args: "policy test lab/a.rrd"}}},
	{"stats", []verbStep{{args: "stats -o csv"}}},
	{"export", []verbStep{{args: "export lab -j 1 --to {FOLDER}/out"}, {args: "export lab --to {FOLDER}/xml --xml"}, {args: "graphv {FOLDER}/n.svg -a SVG -s 1000000000 -e 1000000040 DEF:v={FOLDER}/out/lab/a.rrd:x:AVERAGE DEF:w=lab/a.rrd:x:AVERAGE LINE:v#ff0000 LINE:w#00ff00 PRINT:v:MAX:%lf PRINT:w:MAX:%lf"}, {args: "export lab -j 1 --to {FOLDER}/out"}}},
	{"import", []verbStep{{args: "import --prefix in {FOLDER}/out"}, {args: "import --prefix in {FOLDER}/out"}, {args: "import --prefix in {FOLDER}/a.xml {FOLDER}/g.png"}, {args: "info in/lab/a.rrd"}}},
	{"rename", []verbStep{{args: "rename lab/b.rrd lab/d.rrd"}, {args: "rename lab/nosuch lab/e"}, {args: "list -r lab"}}},
	{"drop", []verbStep{{args: "drop lab/d.rrd"}, {args: "drop lab/d.rrd"}, {args: "drop -r in --dry-run"}, {args: "drop -r in"}, {args: "list in"}}},
	{"check", []verbStep{{args: "check"}, {args: "check -o json"}}},
	{"backup", []verbStep{{args: "backup {FOLDER}/backup"}, {args: "backup {FOLDER}/backup"}, {args: "backup --check {FOLDER}/backup"}, {args: "update lab/a.rrd 1000000070:7"}, {args: "backup --since {FOLDER}/backup {FOLDER}/since.backup"}, {args: "backup --check {FOLDER}/backup {FOLDER}/since.backup"}, {args: "backup --check {FOLDER}/since.backup"}, {args: "backup --since {FOLDER}/g.png {FOLDER}/none.backup"}}},
	{"compact", nil},        // works on files alone: TestDaemonCredentials
	{"salvage", nil},        // likewise
	{"cluster", nil},        // works on a cluster, and needs one: TestOperateCluster
	{"mono", nil},           // asks agents through a server, and needs one: TestMono
	{"alerts", nil},         // asks a server, and needs one: testdata/script/show/alerts.txtar
	{"status", nil},         // likewise
	{"restore-backup", nil}, // works on files alone: TestDaemonCredentials
	{"wal", nil},            // likewise
	{"config", nil},
	{"password", nil},
	{"token", nil},
	{"send", nil},
	{"serve", nil},
	{"rrdd-publish", nil},
	{"bench", nil},
	{"completion", nil},
	{"help", nil},
	{"man", nil},
	{"version", nil},
}

// changing is what differs between two runs of one command: times of day, and how long it took.
var changing = regexp.MustCompile(`r:[0-9.]+\n|20[2-9][0-9]-[0-9-]+[T ][0-9:.]+( UTC|Z)?|<!-- [^>]* -->|[0-9]+ of [0-9]+ files, .*`)

// TestVerbsThroughHTTP: every command says the same, with the same exit code, on a database of its
// own, through a server's socket, by http and by https. It starts some 250 processes, which takes
// minutes with the race detector; the tests of package server run the same in one process.
func TestVerbsThroughHTTP(t *testing.T) {
	t.Parallel()
	var named []string
	for _, v := range verbSteps {
		named = append(named, v.command)
	}
	for _, c := range cmd.NewRoot(&cli.Process{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}).Commands() {
		if !c.Hidden && !slices.Contains(named, c.Name()) {
			t.Errorf("no step shows that rondo %s works through HTTP, or that it needs not", c.Name())
		}
	}
	ca := webconfigtest.New(t, "authority")
	ca.Leaf(t, "server", webconfigtest.Leaf{})
	ca.Write(t, "token", "tok\n")
	web := ca.Write(t, "web.yml", fmt.Sprintf("tls_server_config: {cert_file: server.crt, key_file: server.key}\nrondo:\n  tokens:\n    - {name: admin, role: admin, sha256: %q}\n", webconfig.HashToken("tok")))
	ways := []*verbWay{{name: "embedded"}, {name: "socket"}, {name: "https"}}
	if seedtest.More() { // the same as https, without what TLS adds
		ways = append(ways, &verbWay{name: "http"})
	}
	for _, w := range ways {
		w.folder = t.TempDir()
		db := filepath.Join(w.folder, "db")
		w.env = []string{"RONDO_DB=" + db}
		switch w.name {
		case "socket":
			rondotest.Serve(t, db)
		case "http":
			w.env = []string{"RONDO_DAEMON=" + rondotest.Serve(t, db).URL}
		case "https":
			d := rondotest.Serve(t, db, "--web-config", web)
			w.env = []string{"RONDO_DAEMON=https://" + d.Listens["http"], "RONDO_DAEMON_CA=" + filepath.Join(ca.Dir, "ca.crt"), "RONDO_DAEMON_TOKEN_FILE=" + filepath.Join(ca.Dir, "token")}
		}
	}
	for _, v := range verbSteps {
		for _, s := range v.steps {
			want := ways[0].run(t, s)
			for _, w := range ways[1:] {
				if got := w.run(t, s); got != want {
					t.Errorf("rondo %s by %s: %s\nembedded: %s", s.args, w.name, got, want)
				}
			}
		}
	}
}

// A verbWay is a way to a database.
type verbWay struct {
	name, folder string
	env          []string
}

// run runs a step and returns what it prints, its exit code, and which files it has made.
func (w *verbWay) run(t *testing.T, s verbStep) string {
	t.Helper()
	place := strings.NewReplacer("{FOLDER}", w.folder)
	words := strings.Fields(s.args)
	for i := range words {
		words[i] = place.Replace(words[i])
	}
	cmd := exec.Command("rondo", words...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(w.env, "PATH="+os.Getenv("PATH"), "HOME="+w.folder, "TZ=UTC", "LC_ALL=C", "RONDO_CONFIG=", "RRDCACHED_ADDRESS=")
	cmd.Stdin = strings.NewReader(place.Replace(s.stdin))
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code is compared
	text := fmt.Sprintf("exit code %d\n%s--\n%s", cmd.ProcessState.ExitCode(), &out, &errOut)
	switch words[0] { // the numbers differ
	case "stats":
		text = regexp.MustCompile(`[0-9. ]+`).ReplaceAllString(text, "N")
	case "backup":
		text = regexp.MustCompile(`[0-9.]+ ([KM]i)?B\n`).ReplaceAllString(text, "N\n")
	}
	if words[0] == "export" || words[0] == "import" { // several files at a time
		lines := strings.Split(text, "\n")
		slices.Sort(lines)
		text = strings.Join(lines, "\n")
	}
	text = strings.ReplaceAll(text, w.folder, "{FOLDER}")
	return changing.ReplaceAllString(text, "…") + w.files(t)
}

// files returns the names of the files in the folder of w, and what is in them.
func (w *verbWay) files(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.folder, func(name string, e os.DirEntry, err error) error {
		if err != nil || name == filepath.Join(w.folder, "db") {
			return filepath.SkipDir
		}
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		if strings.HasSuffix(name, "backup") {
			data = nil // databases differ in times
		}
		rel, _ := filepath.Rel(w.folder, name) // it is below
		fmt.Fprintf(&b, "\n%s: %d bytes, %x", rel, len(data), changing.ReplaceAllString(string(data), "…")[:min(len(data), 16)])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
