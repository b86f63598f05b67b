package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestTranscriptOfThePage compares what the page says the server listens for with what it does.
func TestTranscriptOfThePage(t *testing.T) {
	d := rondotest.StartDefault(t, filepath.Join(t.TempDir(), "rondo.db"))
	f := ofLang(t, readFences(t, root+"/docs/serve.md"), "text")[0]
	told := make(map[string]bool)
	for _, m := range rondotest.Listening.FindAllStringSubmatch(f.text, -1) {
		told[m[1]] = true
		got := d.Listens[m[1]]
		if filepath.IsAbs(m[2]) {
			if filepath.Base(m[2]) != filepath.Base(got) {
				t.Errorf("docs/serve.md:%d: %s listens at %s, want %s", f.line, m[1], m[2], got)
			}
			continue
		}
		_, flags := serve.NewSettings(&cli.Factory{Process: &cli.Process{LookupEnv: func(string) (string, bool) { return "", false }}})
		if want := strings.Trim(flags.Flags().Lookup(m[1]).DefValue, "[]"); m[2] != want || got == "" {
			t.Errorf("docs/serve.md:%d: %s listens at %s; its default is %s", f.line, m[1], m[2], want)
		}
	}
	for name := range d.Listens {
		if !told[name] {
			t.Errorf("docs/serve.md:%d: it does not say that the server listens for %s", f.line, name)
		}
	}
}

// TestGraphOfThePageInterop runs the page's graph with the original rrdtool, over the socket of a
// server that listens by default.
func TestGraphOfThePageInterop(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool")
	dir := t.TempDir()
	t.Chdir(dir)
	db := filepath.Join(dir, "rondo.db")
	rondotest.StartDefault(t, db)
	rondotest.Run(t, db, "create", "web1/load/load.rrd", "--start", "now-1h", "--step", "60", "DS:shortterm:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:1440")
	rondotest.Run(t, db, "update", "web1/load/load.rrd", "now-10min@1", "now-9min@2", "now-8min@3")
	for _, f := range ofLang(t, readFences(t, filepath.Join(moduleRoot, "docs/clients.md")), "sh") {
		if strings.Contains(f.text, "rrdtool graph") {
			runLine(t, dir, f.text)
		}
	}
	picture, err := os.ReadFile("load.png")
	if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("%v, a picture that begins %.8q", err, picture)
	}
}

// moduleRoot is the module's folder in full, for tests that change the folder.
var moduleRoot = func() string {
	abs, err := filepath.Abs(root)
	if err != nil {
		panic(err)
	}
	return abs
}()
