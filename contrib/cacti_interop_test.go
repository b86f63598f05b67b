package contrib_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestCacti has Debian's Cacti make the commands of the graph templates of its packages: for a day,
// for two weeks, and as a small picture. It wants the same of the pipe of rrdtool and of rondo.
func TestCacti(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool")
	site := filepath.Join(drawingProgram(t, "cacti"), "usr/share/cacti/site")
	php, env := php(t)
	t.Parallel()
	packages, err := filepath.Glob(filepath.Join(site, "install/templates/*.xml.gz"))
	if err != nil || len(packages) < 10 {
		t.Fatalf("%q, %v", packages, err)
	}
	if !seedtest.More() {
		packages = slices.DeleteFunc(packages, func(name string) bool {
			return !strings.Contains(name, "Local_Linux") && !strings.Contains(name, "Apache") && !strings.Contains(name, "PING")
		})
	}
	c := newCommander(t, t.TempDir())
	cacti := func(dir, tool string, environment []string, what string, more ...string) []string {
		t.Helper()
		args := append(append(slices.Clone(php[1:]), absolute(t, "testdata/cacti.php"), site, what), packages...)
		cmd := exec.Command(php[0], args...)
		cmd.Dir, cmd.Env = dir, append(append(append(environment, env...), "RRDTOOL="+tool, fmt.Sprintf("CLOCK=%d", drawnEnd)), more...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", what, err, out)
		}
		return strings.Split(strings.TrimSpace(present.ReplaceAllString(string(out), fmt.Sprint("TIME,", drawnEnd-30000))), "\n")
	}
	c.fill(cactiSeries(t, cacti(c.theirs, c.tool, bare(), "series")))
	theirs, mine := rrdtooltest.StartPipe(t, c.tool, c.theirs, bare()), rrdtooltest.StartPipe(t, c.link, c.mine, c.ours)
	graphs, failed := 0, 0
	for _, gradients := range []string{"", "on"} {
		commands := cacti(c.theirs, c.tool, bare(), "graphs", "GRADIENTS="+gradients)
		if d := cmp.Diff(commands, cacti(c.mine, c.link, slices.Clone(c.ours), "graphs", "GRADIENTS="+gradients)); d != "" {
			t.Fatalf("commands (-rrdtool +rondo):\n%s", d)
		}
		for _, line := range commands {
			line = strings.Replace(strings.TrimSpace(line), "graphv - ", "graphv o.png ", 1)
			graphs++
			want, refused := theirs.Ask(line)
			got, err := mine.Ask(line)
			if fmt.Sprint(refused) != fmt.Sprint(err) || unsigned(want) != unsigned(got) {
				t.Errorf("%s: %v, %v (-rrdtool +rondo):\n%s", line, refused, err, cmp.Diff(want, got))
			}
			if refused != nil {
				failed++
				t.Logf("%.3000s: %v", line, refused)
			}
		}
	}
	if graphs < 2*3*10 || failed > graphs/10 {
		t.Errorf("rrdtool refuses %d of %d graphs", failed, graphs)
	}
	t.Logf("%d graphs compared; rrdtool refuses %d", graphs, failed)
}

// unsigned leaves out the sign of what is unknown.
func unsigned(text string) string { return strings.ReplaceAll(text, "-nan", "nan") }

// present is the present in a CDEF: before it, a source that has just been added counts as 0.
var present = regexp.MustCompile(`TIME,[0-9]{10}`)

var plainName = regexp.MustCompile(`^[\w-]+$`)

// cactiSeries returns commands that make series. A line is the name of a file and the names of its
// data sources.
func cactiSeries(t *testing.T, lines []string) (commands []string) {
	t.Helper()
	const step, rows = 300, 700
	for k, line := range lines {
		var file string
		var names []string
		if err := json.Unmarshal([]byte(line), &[]any{&file, &names}); err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", line, err)
		}
		create, update := fmt.Sprintf("create %s --start %d --step %d", file, drawnEnd-rows*step, step), "update "+file
		for _, name := range names {
			if !plainName.MatchString(name) {
				t.Fatal(line)
			}
			create += fmt.Sprintf(" DS:%s:GAUGE:%d:U:U", name, 2*step)
		}
		for n := 1; n <= rows; n++ {
			update += fmt.Sprintf(" %d", drawnEnd+(n-rows)*step)
			for i := range names {
				value := fmt.Sprintf(":%.3f", float64(1+i+k%7)*math.Pow(10, float64(k%5))*(1.1+math.Sin(float64(n+9*i+k)/40)))
				if (n+i)%61 < 4 {
					value = ":U"
				}
				update += value
			}
		}
		commands = append(commands, create+" RRA:AVERAGE:0.5:1:700 RRA:MAX:0.5:1:700 RRA:AVERAGE:0.5:6:700 RRA:MAX:0.5:6:700 RRA:MIN:0.5:6:700 RRA:LAST:0.5:6:700", update)
	}
	return commands
}
