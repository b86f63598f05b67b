package rrdfile_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// TestRestore: what rrdtool dumps is restored by rrdtool and by rondo, and the two files go on
// alike; what rondo dumps is restored by rrdtool.
func TestRestore(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	n := seedtest.Programs(15, 5)
	for i := range n {
		p := newProgram(rand.New(rand.NewPCG(r.Uint64(), 6)))
		if !restored(t, tool, p, loc) {
			t.Fatalf("program %d: %v\n%v", i, p, p.updates)
		}
	}
	t.Logf("%d programs compared", n)
}

func restored(t *testing.T, tool *peer, p *program, loc *time.Location) bool {
	t.Helper()
	tool.must(p.create("p.rrd")...)
	turn := p.r.IntN(len(p.updates) + 1)
	for i := range turn {
		_ = p.update(tool, "p.rrd", i)
	}
	if p.r.IntN(3) == 0 {
		p.tune(tool, 6)
	}
	header := rrdfile.Header(p.r.IntN(3))
	out, _, err := tool.run("dump", "--header", []string{"dtd", "xsd", "none"}[header], "p.rrd")
	if err != nil {
		return true // rrdtool crashes at some that it tuned itself
	}
	text := string(out)
	f := open(t, tool.file("p.rrd"))
	var mine bytes.Buffer
	if err := f.WriteXML(&mine, header, loc); err != nil {
		t.Error(err)
		return false
	}
	if mine.String() != text {
		t.Errorf("dump (-rrdtool +rondo):\n%s", diffLines(text, mine.String()))
		return false
	}
	if err := os.WriteFile(tool.file("p.xml"), mine.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	restore := []string{"restore", "-f", "p.xml", "q.rrd"}
	// rrdtool takes the expression of a COMPUTE source for limits.
	o := rrdfile.XMLOptions{RangeCheck: p.r.IntN(3) == 0 && !slices.Contains(p.kinds, "COMPUTE")}
	if o.RangeCheck {
		restore = slices.Insert(restore, 1, "-r")
	}
	// In pipe mode rrdtool remembers -r for what is restored later.
	if _, msg, err := tool.run(restore...); err != nil {
		t.Errorf("rrdtool %v: %s", restore, msg)
		return false
	}
	got, err := rrdfile.ReadXML(&mine, o)
	if err != nil {
		t.Error(err)
		return false
	}
	want := open(t, tool.file("q.rrd"))
	for i := range want.State.Archives {
		want.State.Archives[i].CurRow = 0
	}
	if d := cmp.Diff(want, got, sameFloats, noEmpty, cmpopts.IgnoreUnexported(rrdfile.File{})); d != "" {
		t.Errorf("restored (-rrdtool +rondo):\n%s", d)
		return false
	}
	// Rings that begin at the same rows go on alike.
	for name, f := range map[string]*rrdfile.File{"q.rrd": want, "r.rrd": got} {
		if err := os.WriteFile(tool.file(name), binaryOf(t, f), 0o600); err != nil {
			t.Error(err)
			return false
		}
	}
	for i := turn; i < len(p.updates); i++ {
		_, _ = p.update(tool, "q.rrd", i), p.update(tool, "r.rrd", i)
	}
	if a, b := readFile(t, tool.file("q.rrd")), readFile(t, tool.file("r.rrd")); !bytes.Equal(a, b) {
		t.Errorf("rondo's file after updates: %s", diffBytes(a, b))
		return false
	}
	return true
}

// tune makes a file such as create does not make: archives with other rows than their like, and
// more. It does one or some of so many kinds of changes.
func (p *program) tune(tool *peer, kinds int) {
	for range 1 + p.r.IntN(3) {
		args := []string{"tune", "p.rrd"}
		switch p.r.IntN(kinds) {
		case 0:
			args = append(args, fmt.Sprintf("RRA:%s:0.5:%d:%d", pick(p.r, "AVERAGE", "MIN", "MAX", "LAST"), 1+p.r.IntN(3), 1+p.r.IntN(20)))
		case 1:
			name, _, _ := strings.Cut(p.args[0][3:], ":")
			args = append(args, pick(p.r, "--minimum", "--maximum", "--heartbeat"), name+":"+strconv.Itoa(500+p.r.IntN(50)))
			if args[2] == "--minimum" {
				args[3] = name + ":-50"
			}
		case 2:
			args = append(args, fmt.Sprintf("RRA#0:%s%d", pick(p.r, "+", "-"), 1+p.r.IntN(3)))
		case 3:
			args = append(args, "--step", strconv.FormatInt(p.step, 10), "RRA#0:+1")
			if p.step%5 == 0 {
				args[3] = strconv.FormatInt(p.step/5, 10)
			}
		case 4:
			args = append(args, "DELRRA:0")
		case 5:
			args = append(args, "DS:added:GAUGE:100:U:U")
		}
		// One that is refused leaves the file as it was.
		_, _, _ = tool.run(args...)
	}
}
