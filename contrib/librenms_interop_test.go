//go:build repositories

package contrib_test

import (
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// librenmsPictures are the parameters that LibreNMS's pages give their graphs: on the page of a
// device, large with the period before, small, dark, and of two weeks as PNG.
var librenmsPictures = []string{
	"from=%d&to=%d&width=400&height=150&title=yes",
	"from=%d&to=%d&width=1075&height=300&previous=yes&legend=yes",
	"from=%d&to=%d&width=150&height=45&legend=no",
	"from=%d&to=%d&width=340&height=100&style=dark&noagg=1&absolute=1",
	"from=%d&to=%d&width=600&height=200&graph_type=png&inverse=1",
}

// librenmsCommands returns the commands of all graphs that LibreNMS's templates draw, and what the
// templates without one say.
func librenmsCommands(t *testing.T, site string) (commands, others []string) {
	t.Helper()
	templates, err := filepath.Glob(filepath.Join(site, "includes/html/graphs/*/*.inc.php"))
	if err != nil {
		t.Fatal(err)
	}
	php, env := php(t)
	stub := absolute(t, "testdata/librenms.php")
	lines := make([]string, len(templates))
	var group sync.WaitGroup
	places := make(chan struct{}, 2)
	for i, template := range templates {
		name := strings.TrimSuffix(filepath.Base(template), ".inc.php")
		if name == "auth" {
			continue
		}
		kind := filepath.Base(filepath.Dir(template)) + "_" + name
		span := drawnDay
		if i%len(librenmsPictures) == len(librenmsPictures)-1 {
			span = 14 * drawnDay
		}
		query := fmt.Sprintf(librenmsPictures[i%len(librenmsPictures)], drawnEnd-span, drawnEnd)
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			cmd := exec.Command(php[0], append(slices.Clone(php[1:]), stub, site, kind, query)...)
			cmd.Env = append(bare(), env...)
			out, err := cmd.CombinedOutput()
			lines[i] = strings.TrimSuffix(string(out), "\n")
			if err != nil || !strings.HasPrefix(lines[i], "graphv - ") || strings.Contains(lines[i], "\n") {
				lines[i] = fmt.Sprintf("# %s: %v %.300s", kind, err, out)
			}
		})
	}
	group.Wait()
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			others = append(others, line)
		} else if line != "" {
			commands = append(commands, line)
		}
	}
	return commands, others
}

// librenmsSource is the definition of a variable from a series. Of the name of a data source, LibreNMS
// keeps what rrdtool does.
var librenmsSource = regexp.MustCompile(`DEF:[^=:' ]+=(rrd/[^:' ]+\.rrd):([\w.-]{1,19})[\w.-]*:(?:AVERAGE|MIN|MAX|LAST)`)

// librenmsSeries returns commands that make the series that graphs ask for.
func librenmsSeries(graphs []string) (commands []string) {
	const step, rows = 300, 600
	sources := map[string][]string{}
	for _, line := range graphs {
		for _, m := range librenmsSource.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(sources[m[1]], m[2]) {
				sources[m[1]] = append(sources[m[1]], m[2])
			}
		}
	}
	for k, file := range slices.Sorted(maps.Keys(sources)) {
		create, update := fmt.Sprintf("create %s --start %d --step %d", file, drawnEnd-rows*step, step), "update "+file
		for _, name := range sources[file] {
			create += fmt.Sprintf(" DS:%s:GAUGE:%d:U:U", name, 2*step)
		}
		for n := 1; n <= rows; n++ {
			update += fmt.Sprintf(" %d", drawnEnd+(n-rows)*step)
			for i := range sources[file] {
				value := fmt.Sprintf(":%.3f", float64(1+i%9+k%7)*math.Pow(10, float64(k%5))*(1.1+math.Sin(float64(n+9*i+k)/40)))
				if (n+i)%97 < 3 {
					value = ":U"
				}
				update += value
			}
		}
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			create += " RRA:" + cf + ":0.5:1:600 RRA:" + cf + ":0.5:6:1440"
		}
		commands = append(commands, create+" RRA:LAST:0.5:1:600", update)
	}
	return commands
}

// TestLibreNMS has the templates of LibreNMS make the commands of their graphs, and wants the same
// of the pipes of rrdtool and of rondo, to which LibreNMS writes them.
func TestLibreNMS(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool")
	site := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(repositoryProgram(t, "librenms", "includes/html/graphs/graph.inc.php")))))
	commands, others := librenmsCommands(t, site)
	for _, line := range others {
		t.Log(line)
	}
	c := newCommander(t, t.TempDir())
	series := librenmsSeries(commands)
	c.fill(series)
	theirs, mine := rrdtooltest.StartPipe(t, c.tool, c.theirs, bare()), rrdtooltest.StartPipe(t, c.link, c.mine, c.ours)
	failed := 0
	for _, line := range commands {
		line = strings.Replace(line, "graphv - ", "graphv o.png ", 1)
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
	if len(commands) < 1000 || failed > len(commands)/10 {
		t.Errorf("rrdtool refuses %d of %d graphs", failed, len(commands))
	}
	t.Logf("%d graphs of %d series compared; rrdtool refuses %d; %d templates make no command", len(commands), len(series)/2, failed, len(others))
}
