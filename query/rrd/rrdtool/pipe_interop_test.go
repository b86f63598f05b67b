package rrdtool_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// TestPipeAsOriginal gives random lines to pipe mode and to rrdtool's and compares all that is
// answered.
func TestPipeAsOriginal(t *testing.T) {
	o := newOriginal(t)
	seed, n := seedtest.One(t), seedtest.Programs(12, 10)
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		// Deep enough that no program leaves it by "cd ..", and a folder because it holds
		// something.
		const deep = "1/2/3/4/5/6/7/8"
		create := "create keep.rrd --start 1000000000 --step 10 DS:v:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10\n"
		script := create + pipeScript(r)
		top := t.TempDir()
		cmd := exec.Command(o.path, "-")
		cmd.Dir, cmd.Env = filepath.Join(top, deep), o.env
		if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = strings.NewReader(script)
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got, errs bytes.Buffer
		env := &rrdtool.Env{Store: enginetest.Open(t), Stdout: &got, Stderr: &errs, Location: berlin(t), Dir: deep}
		if code := rrdtool.Pipe(t.Context(), env, strings.NewReader(script)); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if d := cmp.Diff(pipeAnswers(strings.ReplaceAll(string(want), top+"/", "/")), pipeAnswers(got.String())); d != "" {
			t.Fatalf("program %d (-rrdtool +rondo):\n%s\n%s", i, script, d)
		}
	}
	t.Logf("%d programs", n)
}

// pipeScript makes lines for pipe mode.
func pipeScript(r *rand.Rand) string {
	var b strings.Builder
	at := int64(1_000_000_000)
	for range 40 {
		name := oneOf(r, "a.rrd", "b.rrd", "'c d.rrd'", "d/a.rrd", `"e"'f'.rrd`, "../a.rrd", "none.rrd")
		line := ""
		switch r.IntN(16) {
		case 0, 1:
			// In a folder that is not there rrdtool cannot, and rondo can.
			line = "create " + strings.Replace(name, "d/", "", 1) + " --start 1000000000 --step 10 DS:v:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10"
		case 2, 3, 4, 5:
			at += int64(r.IntN(15))
			line = fmt.Sprintf("update %s%s %d:%d", name, oneOf(r, "", "", "", " -t v", " --template v", " -t w"), at, r.IntN(100))
			if r.IntN(4) == 0 {
				at += int64(r.IntN(15))
				line += fmt.Sprintf(" %d:%s", at, oneOf(r, "U", "1.50", "-2", "1:2", "x"))
			}
		case 6:
			line = "last " + name
		case 7:
			line = "fetch " + name + " AVERAGE -s 1000000000 -e 1000000100"
		case 8:
			line = "cd " + oneOf(r, "d", "..", ".", "none", "d/../d", "")
		case 9:
			line = "mkdir " + oneOf(r, "d", "d/e", "none/x", "'a b'", "d")
		case 10:
			line = oneOf(r, "pwd", "pwd x", "ls", "ls x", "quit x", "cd", "mkdir", "  pwd  ", "pwd\r")
		case 11:
			line = oneOf(r, `last "a.rrd`, `last 'a.rrd`, `last a\ b`, `last ""`, `last "" x`, `last "a\\b"`, `last   a.rrd   `, `last 'x"y'`, `last "a\"b"`)
		case 12:
			line = "info " + name
		case 13:
			line = "updatev " + name + fmt.Sprintf(" %d:1 %d:U", at+10, at+20)
			at += 20
		case 14:
			line = "lastupdate " + name
		case 15:
			line = oneOf(r, "foo bar", "foo a b c", "create x", "update a.rrd", "first a.rrd", "first a.rrd --rraindex 7")
		}
		b.WriteString(line + oneOf(r, "\n", "\n", "\n", "\r\n"))
	}
	if r.IntN(3) == 0 {
		b.WriteString("quit\nlast a.rrd\n")
	} else if r.IntN(2) == 0 {
		b.WriteString("last a.rrd") // without an end
	}
	return b.String()
}

var okLine = regexp.MustCompile(`^OK u:\d+\.\d\d s:\d+\.\d\d r:\d+\.\d\d$`)

// pipeAnswers splits what pipe mode says into answers, without what may differ: times, the folder,
// the order of ls, the row of a new archive, which rrdtool draws at random.
func pipeAnswers(out string) []string {
	var answers []string
	var part []string
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.Index(line, "].cur_row = "); i >= 0 {
			line = line[:i]
		}
		if okLine.MatchString(line) {
			line = "OK"
		}
		part = append(part, line)
		if line == "OK" || strings.HasPrefix(line, "ERROR: ") {
			if slices.Contains(part, "d .") {
				slices.Sort(part)
			}
			answers = append(answers, strings.Join(part, "\n"))
			part = nil
		}
	}
	return append(answers, strings.Join(part, "\n"))
}

// TestPipeLongLine: a line that is too long is refused, and the next is read.
func TestPipeLongLine(t *testing.T) {
	var out bytes.Buffer
	env := &rrdtool.Env{Store: enginetest.Open(t), Stdout: &out, Stderr: os.Stderr}
	long := "last " + strings.Repeat("x", 3<<20) + "\nlast none\n"
	if code := rrdtool.Pipe(t.Context(), env, strings.NewReader(long)); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	want := "ERROR: line is longer than 1048576 bytes\n-1\nERROR: opening 'none': No such file or directory\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func oneOf(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
