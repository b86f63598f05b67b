package rrdtool_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A programGraph is a graph of the shape that a program asks for.
type programGraph struct {
	name string
	args []string // of graph, behind the file
}

// programGraphs reads a file of testdata/graphs.
func programGraphs(t *testing.T, file string) (graphs []programGraph) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		name, ok := strings.CutPrefix(lines[0], "# ")
		if !ok {
			t.Fatalf("%s: a graph begins with %q", file, lines[0])
		}
		graphs = append(graphs, programGraph{name, lines[1:]})
	}
	return graphs
}

// programStart, programStep and programRows say what the series of programs hold: to 12:45 of the
// 7th of March 1999.
const (
	programStep  = 300
	programRows  = 2000
	programStart = 920808900 - programStep*programRows
)

var programDef = regexp.MustCompile(`^DEF:[^=]+=([^:]+):([^:]+):`)

// programSeries returns commands that make the series of graphs, with all archives that programs use.
func programSeries(graphs []programGraph) (commands [][]string) {
	sources := map[string][]string{}
	var files []string
	for _, g := range graphs {
		for _, arg := range g.args {
			if m := programDef.FindStringSubmatch(arg); m != nil {
				if sources[m[1]] == nil {
					files = append(files, m[1])
				}
				if !slices.Contains(sources[m[1]], m[2]) {
					sources[m[1]] = append(sources[m[1]], m[2])
				}
			}
		}
	}
	for number, file := range files {
		create := []string{"create", file, "--start", fmt.Sprint(programStart), "--step", fmt.Sprint(programStep)}
		for _, name := range sources[file] {
			create = append(create, fmt.Sprintf("DS:%s:GAUGE:%d:U:U", name, 2*programStep))
		}
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			create = append(create, "RRA:"+cf+":0.5:1:600", "RRA:"+cf+":0.5:6:700", "RRA:"+cf+":0.5:24:775", "RRA:"+cf+":0.5:288:797")
		}
		commands = append(commands, create)
		update := []string{"update", file}
		for row := range programRows {
			sample := []string{fmt.Sprint(programStart + programStep*(row+1))}
			for ds := range sources[file] {
				reading := fmt.Sprintf("%.4f", 40*(1+float64(number))*(1.2+math.Sin(float64(row+70*ds)/60))+float64(row*7919%100)/9)
				if (row+13*ds)%97 < 5 {
					reading = "U"
				}
				sample = append(sample, reading)
			}
			update = append(update, strings.Join(sample, ":"))
		}
		commands = append(commands, update)
	}
	return commands
}

// TestGraphsOfPrograms draws graphs of the shapes that programs ask for, with rrdtool and with Run:
// as files, on standard output, and with all their numbers.
func TestGraphsOfPrograms(t *testing.T) {
	o := newOriginal(t)
	files, err := filepath.Glob("testdata/graphs/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			graphs := programGraphs(t, file)
			theirs, mine := t.TempDir(), t.TempDir()
			me := &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
			for _, args := range programSeries(graphs) {
				if want, got := o.run(theirs, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
					t.Fatalf("%s: %v, %v", args[:2], want, got)
				}
			}
			for _, g := range graphs {
				compareProgramGraph(t, o, me, theirs, mine, g)
			}
		})
	}
}

func compareProgramGraph(t *testing.T, o *original, me *rondo, theirs, mine string, g programGraph) {
	t.Helper()
	for _, verb := range []string{"graph", "graphv"} {
		args := append([]string{verb, "out.png"}, g.args...)
		want, got := o.run(theirs, args), me.draw(files(mine), args)
		if want.Exit != 0 {
			t.Fatalf("%s: rrdtool cannot draw it: %v", g.name, want)
		}
		if d := cmp.Diff(numbers(want), numbers(got)); d != "" {
			t.Errorf("%s, %s (-rrdtool +rondo):\n%s", g.name, verb, d)
		}
	}
	if strings.Contains(strings.Join(g.args, "\n"), "PRINT") && strings.Count(o.run(theirs, append([]string{"graphv", "out.png"}, g.args...)).Stdout, "nan") > 5 {
		t.Errorf("%s: nothing is known", g.name)
	}
	for _, folder := range []string{theirs, mine} { // one graph draws nothing
		if _, err := os.Stat(filepath.Join(folder, "out.png")); err != nil && !slices.Contains(g.args, "PRINT:maxping:MAX:%le") {
			t.Errorf("%s: no picture: %v", g.name, err)
		}
	}
}
