package rrdfile_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

var (
	unknownPDPs = regexp.MustCompile(`<unknown_datapoints>[^<]*<`)
	unknownSec  = regexp.MustCompile(`<unknown_sec>[^<]*<`)
)

// TestEditedCounts: a file whose counts of what is unknown were edited to far more than can be goes
// on as rrdtool goes on from it: every row is the same.
func TestEditedCounts(t *testing.T) {
	r, tool, loc := seedtest.Rand(t), newPeer(t), berlin(t)
	compared := 0
	for range seedtest.Programs(15, 5) {
		p := newProgram(rand.New(rand.NewPCG(r.Uint64(), 12)))
		tool.must(p.create("p.rrd")...)
		turn := len(p.updates) / 2
		for i := range turn {
			_ = p.update(tool, "p.rrd", i)
		}
		text := unknownPDPs.ReplaceAllStringFunc(tool.must("dump", "p.rrd"), func(string) string {
			return "<unknown_datapoints>" + pick(p.r, "0", "1", "2", "7", "1000000", "2147483646", "2147483647", "2147483648") + "<"
		})
		text = unknownSec.ReplaceAllStringFunc(text, func(string) string {
			// From 2^31 seconds on rrdtool takes the count for a negative one, and the row for
			// known; rondo stops counting one second before. So the seconds that follow must not
			// lead there.
			return "<unknown_sec>" + pick(p.r, "0", "1", "40", "299", "300", "1000000000", "2000000000") + "<"
		})
		f, err := rrdfile.ReadXML(strings.NewReader(text), rrdfile.XMLOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tool.file("p.rrd"), binaryOf(t, f), 0o600); err != nil { // restore of rrdtool has rings begin at random rows
			t.Fatal(err)
		}
		g, err := newGoing(f)
		if err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		for i := turn; i < len(p.updates); i++ {
			theirs, mine := p.update(tool, "p.rrd", i), g.update(p.updates[i])
			if (theirs == nil) != (mine == nil) {
				t.Fatalf("%v: update %v: rrdtool %v, rondo %v", p, p.updates[i], theirs, mine)
			}
			if err := g.m.Check(&g.s); err != nil {
				t.Fatalf("%v: after the update %v: %v", p, p.updates[i], err)
			}
		}
		f, err = g.file()
		if err != nil {
			t.Fatal(err)
		}
		want, got := countless(tool.must("dump", "p.rrd")), countless(dump(t, f, loc))
		if got != want {
			t.Fatalf("%v: dump (-rrdtool +rondo):\n%s", p, diffLines(want, got))
		}
		compared++
	}
	t.Logf("%d programs compared", compared)
}

// countless is a dump without its counts of what is unknown.
func countless(dump string) string {
	return unknownSec.ReplaceAllString(unknownPDPs.ReplaceAllString(dump, "<unknown_datapoints><"), "<unknown_sec><")
}
