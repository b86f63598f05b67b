package protocols

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestMono: a made-up agent is received, gets a command, and is sent away, all by the program.
func TestMono(t *testing.T) {
	t.Parallel() // most of it is waiting
	for _, dialect := range []string{"page", "agent"} {
		t.Run(dialect, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "db")
			d := rondotest.Serve(t, db, "--mono", "127.0.0.1:0", "--mono-dialect", dialect)
			to := d.Listens["mono"]
			if out, ok := runProgram(t, "send", "mono", "--to", to, "Mono GC/Minor GC collections=7:int:events:monotonic", "Mono JIT/x=0.5"); !ok {
				t.Fatal(out)
			}
			agent := exec.Command("rondo", "send", "mono", "--to", to, "--dialect", dialect, "--interval", "10ms", "--unit", "bytes",
				"Mono Custom/jobs=0+5", "--offer", "Mono System/load=0.5")
			var told bytes.Buffer
			agent.Stderr = &told
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- agent.Wait() }()
			t.Cleanup(func() { _ = agent.Process.Kill() }) // it may have ended
			do := func(ok bool, want string, args ...string) {
				t.Helper()
				out, is := runProgram(t, append([]string{"mono", "--db", db}, args...)...)
				if is != ok || !strings.Contains(out, want) {
					t.Errorf("mono %q: %t\n%s\nwant %t and %q", args, is, out, ok, want)
				}
			}
			for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(10 * time.Millisecond) {
				if out, ok := runProgram(t, "mono", "peers", "--db", db, "-o", "tsv"); ok && strings.Contains(out, "127.0.0.1\t") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the agent is not seen")
				}
			}
			do(true, "Mono Custom\tjobs\t0\tlong\tbytes\tvariable\t", "list", "--peer", "127.0.0.1", "-o", "tsv")
			do(true, "Mono System,load,1,double,bytes,variable\n", "add", "--peer", "127.0.0.1", "Mono System/load", "-o", "csv")
			do(false, "ERROR: agent 127.0.0.1: \"Mono System/load\" is sampled already, with the index 1\n", "add", "Mono System/load")
			do(false, "ERROR: agent 127.0.0.1: there is no counter \"Mono System/none\" (not found)\n", "add", "Mono System/none")
			do(true, `{"category": "Mono Custom", "name": "jobs", "index": "0",`, "remove", "--peer", "127.0.0.1", "0", "-o", "jsonl")
			do(false, "no agent \"nobody\" is connected, but 127.0.0.1\n", "list", "--peer", "nobody")
			do(false, "--output 'xml': want table", "list", "-o", "xml")
			if out, ok := runProgram(t, "mono", "peers", "--daemon", "http://"+d.Listens["http"], "-o", "tsv"); !ok || !strings.Contains(out, "127.0.0.1\t") {
				t.Errorf("at the HTTP port: %s", out)
			}
			d.Stop(t)
			select {
			case err := <-ended:
				if err != nil || told.Len() > 0 {
					t.Errorf("the agent ends with %v: %s", err, told.String())
				}
			case <-time.After(rondotest.Patience):
				t.Error("the agent does not hear good bye")
			}
			do(false, "ERROR: no server runs on this database: rondo serve starts one", "peers")
			want := "127.0.0.1/Mono Custom/jobs\n127.0.0.1/Mono GC/Minor GC collections\n127.0.0.1/Mono JIT/x\n127.0.0.1/Mono System/load\n"
			if out, ok := runProgram(t, "list", "-r", "--db", db, "mono"); !ok || out != want {
				t.Errorf("series:\n%s\nwant:\n%s", out, want)
			}
		})
	}
}

// TestMonoFile: what is recorded by the program is read by its server, without a port.
func TestMonoFile(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	db, file := filepath.Join(dir, "db"), filepath.Join(dir, "run7.bin")
	if out, ok := runProgram(t, "send", "mono", "--out", file, "--at", "1700000000", "--interval", "1s", "--count", "20", "Mono Custom/jobs=7+0.5:double"); !ok {
		t.Fatal(out)
	}
	d := rondotest.Serve(t, db, "--mono", "", "--mono-file", file)
	if a := d.Listens["mono"]; a != "" {
		t.Errorf("it listens at %s", a)
	}
	var out string
	for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(10 * time.Millisecond) {
		var ok bool
		if out, ok = runProgram(t, "lastupdate", "--db", db, "mono/run7/Mono Custom/jobs"); ok && strings.Contains(out, "1700000019: 16.5\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file is not read: %s", out)
		}
	}
	d.Stop(t)
	if out, ok := runProgram(t, "serve", "--db", db, "--http", "", "--collectd", "", "--gmetric", "", "--mono-file", filepath.Join(dir, "nosuch")); ok || !strings.Contains(out, "nosuch") {
		t.Errorf("a file that is not there: %s", out)
	}
}

func TestSendMonoFlags(t *testing.T) {
	t.Parallel() // most of it is waiting
	file := filepath.Join(t.TempDir(), "f")
	for _, test := range []struct{ args, want string }{
		{"Mono GC/a", "want CATEGORY/NAME=VALUE"},
		{"a=1", "want CATEGORY/NAME=VALUE"},
		{"Mono GC/=1", "want CATEGORY/NAME=VALUE"},
		{"Other/a=1", `category "Other" is not known`},
		{"Mono GC/a=x", "invalid syntax"},
		{"Mono GC/a=1+x", "invalid syntax"},
		{"Mono GC/a=1:integer", `type "integer" is none of int, long, word, double`},
		{"Mono GC/a=1:2", `type "2" is none of`},
		{"Mono GC/a=1::yards", `unit "yards" is none of none, bytes`},
		{"Mono GC/a=1:::odd", `variance "odd" is none of constant, monotonic, variable`},
		{"Mono GC/a=1:int:9:9:9", "want no more than"},
		{"Mono GC/a=3000000000:int", "out of range"},
		{"Mono GC/a=1 Mono GC/a=2", "is given twice"},
		{"--dialect welsh", `dialect "welsh"`},
		{"--count 2", "--count needs --interval"},
		{"--count -1", "not negative"},
		{"--interval 1s", "--out needs --count"},
		{"--at yore", "--at: "},
	} {
		args := []string{"send", "mono", "--out", file}
		if strings.HasPrefix(test.args, "--") {
			args = append(args, strings.Fields(test.args)...)
		} else {
			args = append(args, strings.Split(strings.ReplaceAll(test.args, " Mono", "\nMono"), "\n")...)
		}
		if out, ok := runProgram(t, args...); ok || !strings.Contains(out, test.want) {
			t.Errorf("%s: %s, want %q", test.args, out, test.want)
		}
	}
	if out, ok := runProgram(t, "send", "mono", "--out", file, "Mono GC/a/b=c=-1", "Mono GC/x=1e+3+2:double:9:9", "Mono Thread/w=-0x10:word:100ns:constant"); !ok {
		t.Fatal(out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte("a/b=c")) || !bytes.HasSuffix(b, []byte{0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) {
		t.Errorf("written: %x", b)
	}
}
