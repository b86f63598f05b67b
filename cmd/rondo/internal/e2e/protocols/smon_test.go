package protocols

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/smon"
)

// untilPrinted runs the program until it prints want.
func untilPrinted(t *testing.T, want string, args ...string) {
	t.Helper()
	for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(10 * time.Millisecond) {
		out, ok := runProgram(t, args...)
		if ok && strings.Contains(out, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q: %s\nwant %q", args, out, want)
		}
	}
}

// TestSmon: what the program sends, its server stores: by a connection, as lines, and from a file.
func TestSmon(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	db, file := filepath.Join(dir, "db"), filepath.Join(dir, "web1.smon")
	if out, ok := runProgram(t, "send", "smon", "--out", file, "--reset", "linux.uptime=1000", "mon.version=1.2"); !ok {
		t.Fatal(out)
	}
	d := rondotest.Serve(t, db, "--smon", "127.0.0.1:0", "--smon-file", file, "--smon-kind", "net.**=COUNTER")
	untilPrinted(t, ": 1000\n", "lastupdate", "--db", db, "smon/web1/linux.uptime")
	untilPrinted(t, `"1.2"`, "info", "--db", db, "smon/web1/mon.version")

	to := d.Listens["smon"]
	if out, ok := runProgram(t, "send", "smon", "--to", to, "--interval", "10ms", "--count", "3", "disk.tps/8/0=7", "net.rx/1=18446744073709551615"); !ok {
		t.Fatal(out)
	}
	untilPrinted(t, ": 7\n", "lastupdate", "--db", db, "smon/127.0.0.1/disk.tps/8/0")
	untilPrinted(t, ": 18446744073709551615\n", "lastupdate", "--db", db, "smon/127.0.0.1/net.rx/1")
	untilPrinted(t, `type = "COUNTER"`, "info", "--db", db, "smon/127.0.0.1/net.rx/1")

	send := exec.Command("rondo", "send", "smon", "--to", to, "-")
	in, err := send.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := send.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = send.Process.Kill() }) // it may have ended
	for n := range 3 {
		if _, err := fmt.Fprintf(in, "\nload/%d\t%d\nstate up and  down\n", n, n); err != nil {
			t.Fatal(err)
		}
		untilPrinted(t, fmt.Sprintf(": %d\n", n), "lastupdate", "--db", db, fmt.Sprintf("smon/127.0.0.1/load/%d", n))
	}
	untilPrinted(t, `"up and  down"`, "info", "--db", db, "smon/127.0.0.1/state")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := send.Wait(); err != nil {
		t.Error(err)
	}
	d.Stop(t)
}

// TestSendSmonStream: the arguments and lines that make values, and what they are as a stream.
func TestSendSmonStream(t *testing.T) {
	t.Parallel() // most of it is waiting
	file := filepath.Join(t.TempDir(), "f")
	for _, test := range []struct {
		args  []string
		stdin string
		want  string // values, or an error
	}{
		{[]string{"abc=1", "a=b=c"}, "", `ERROR: "a=b=c": smon: a name has 3 to 255 bytes`},
		{[]string{"/1/2=3"}, "", `ERROR: "/1/2=3": smon: a name has`},
		{[]string{"abc=1", "abc/2=3", "abc/2/x=4", "abc=-1", "abc="}, "", `abc [] 1|abc [2] 3|abc/2/x [] 4|abc [] "-1"|abc [] ""`},
		{[]string{"--string", "abc=1"}, "", `abc [] "1"`},
		{[]string{"--reset", "abc=1"}, "", `reset|abc [] 1`},
		{[]string{"--interval", "1ms", "--count", "2", "abc=1"}, "", `abc [] 1|abc [] 1`},
		{[]string{"abc/1/2/3/4/5/6/7/8=1", "abc/1/2/3/4/5/6/7/8/9=1"}, "", `abc [1 2 3 4 5 6 7 8] 1|abc/1 [2 3 4 5 6 7 8 9] 1`},
		{[]string{"-"}, "abc 1\n  \nabc/7\t18446744073709551616\nabc two words  \nabc 2", `abc [] 1|abc [7] "18446744073709551616"|abc [] "two words"|abc [] 2`},
		{[]string{"-"}, "abc 1\nabc\nabc 2", `ERROR: standard input, line 2: "abc": want a name and a value`},
		{[]string{"-"}, "ab 1", `ERROR: standard input, line 1: smon: a name has`},
		{[]string{"-"}, "abc " + strings.Repeat("x", 70000), `ERROR: standard input, line 1: `},
		{[]string{"-", "abc=1"}, "", "ERROR: - stands alone"},
		{[]string{"abc"}, "", `ERROR: "abc": want NAME=VALUE`},
		{[]string{"--count", "2", "abc=1"}, "", "ERROR: --count needs --interval"},
		{[]string{"--count", "-1", "abc=1"}, "", "ERROR: --interval and --count are not negative"},
		{[]string{"--to", "127.0.0.1:1", "abc=1"}, "", "ERROR: want either --to HOST:PORT or --out FILE"},
		{nil, "", "ERROR: an argument is missing: rondo send smon NAME"},
	} {
		cmd := exec.Command("rondo", append([]string{"send", "smon", "--out", file}, test.args...)...)
		cmd.Stdin = strings.NewReader(test.stdin)
		out, err := cmd.CombinedOutput()
		if strings.HasPrefix(test.want, "ERROR") {
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%q: %v, %s\nwant %s", test.args, err, out, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v, %s", test.args, err, out)
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v smonValues
		_ = new(smon.Decoder).Decode(bytes.NewReader(b), &v) // io.EOF
		if diff := cmp.Diff(strings.Split(test.want, "|"), v.values); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

// smonValues collects values as texts.
type smonValues struct{ values []string }

func (v *smonValues) Declare(*smon.Token)      {}
func (v *smonValues) Invalid(*receivers.Error) {}
func (v *smonValues) Reset()                   { v.values = append(v.values, "reset") }

func (v *smonValues) Unsigned(t *smon.Token, index []uint64, n uint64) {
	v.values = append(v.values, fmt.Sprint(t.Name, " ", index, " ", n))
}

func (v *smonValues) String(t *smon.Token, index []uint64, text []byte) {
	v.values = append(v.values, fmt.Sprintf("%s %d %q", t.Name, index, text))
}

// TestSendSmonPipe: the stream of one command is the standard input of another.
func TestSendSmonPipe(t *testing.T) {
	t.Parallel() // most of it is waiting
	var out bytes.Buffer
	cmd := exec.Command("rondo", "send", "smon", "--out", "-", "abc=5")
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var v smonValues
	_ = new(smon.Decoder).Decode(&out, &v) // io.EOF
	if diff := cmp.Diff([]string{"abc [] 5"}, v.values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
