//go:build !race

package browsertest

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

const (
	day  = 86400
	year = 366 * day
)

// A curve is the value of a data source at a time in seconds.
type curve func(at int64) float64

// A source is a data source with its curve.
type source struct {
	ds    string // the argument of create, without "DS:"
	curve curve
}

// A filling is a database that a test fills.
type filling struct {
	t      *testing.T
	store  *core.Store
	end    int64 // the time of the newest rows
	copies []core.Copy
}

// fill makes a database in a folder. Its newest rows end at the present.
func fill(t *testing.T, dir string, put func(*filling)) {
	t.Helper()
	store, err := core.Open(dir, core.Options{Sync: wal.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Now().Unix()
	f := &filling{t: t, store: store, end: now - now%10}
	put(f)
	f.flush()
}

// series adds a series with standard archives of a step, with rows of the last span seconds.
func (f *filling) series(path string, step, span int64, labels []core.Label, sources ...source) {
	f.t.Helper()
	d := &rra.Definition{Step: step, Archives: receivers.StandardArchives(step)}
	for _, s := range sources {
		ds, err := rra.ParseDataSource("DS:"+s.ds, step)
		if err != nil {
			f.t.Fatal(err)
		}
		d.Sources = append(d.Sources, ds)
	}
	m, err := rra.Compile(d)
	if err != nil {
		f.t.Fatal(err)
	}
	end := f.end - f.end%step
	c := core.Copy{Path: path, Labels: labels, Definition: d, State: m.NewState(rra.Seconds(end)), Rows: make([][]float64, len(d.Archives))}
	for i := 0; i < len(d.Archives); i += 3 { // AVERAGE, MIN, MAX of one length
		copy(c.Rows[i:], rows(&d.Archives[i], step, end, span, sources))
	}
	f.copies = append(f.copies, c)
	if len(f.copies) >= 500 {
		f.flush()
	}
}

// rows returns the rows of three archives of one length, AVERAGE, MIN and MAX, up to the last that
// ended at or before end. It looks at a curve at three places of a row.
func rows(a *rra.Archive, step, end, span int64, sources []source) [][]float64 {
	length := a.PDPs * step
	n := min(a.Rows, span/length)
	size := int(n) * len(sources)
	averages, lows, highs := make([]float64, 0, size), make([]float64, 0, size), make([]float64, 0, size)
	for at := end/length*length - (n-1)*length; n > 0; n, at = n-1, at+length {
		for _, s := range sources {
			v := s.curve(at)
			low, high, sum := v, v, v
			if length > step {
				b, c := s.curve(at-length/3), s.curve(at-length*2/3)
				low, high, sum = min(v, b, c), max(v, b, c), (v+b+c)/3
			}
			averages, lows, highs = append(averages, sum), append(lows, low), append(highs, high)
		}
	}
	return [][]float64{averages, lows, highs}
}

// flush stores what was added.
func (f *filling) flush() {
	f.t.Helper()
	out, err := core.Import(f.t.Context(), f.store, f.copies, false)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, o := range out {
		if o.Err != nil {
			f.t.Fatalf("%s: %v", f.copies[i].Path, o.Err)
		}
	}
	f.copies = f.copies[:0]
}

// note keeps an event.
func (f *filling) note(path string, at int64, severity, text string) {
	f.t.Helper()
	if err := f.store.AddNote(f.t.Context(), path, core.Note{Time: rra.Seconds(at), Severity: severity, Text: text}); err != nil {
		f.t.Fatal(err)
	}
}

// describe keeps metadata of a path: pairs of names and values.
func (f *filling) describe(path string, pairs ...string) {
	f.t.Helper()
	m := core.PathMetadata{Path: path, Metadata: core.Metadata{Time: rra.Seconds(f.end), Attributes: labels(pairs...)}}
	out, err := f.store.SetMetadata(f.t.Context(), []core.PathMetadata{m})
	if err == nil && len(out) > 0 {
		err = out[0]
	}
	if err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
}

// labels makes labels of pairs of names and values, in order of their names. Those with an empty
// value are left out.
func labels(pairs ...string) (ls []core.Label) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			ls = append(ls, core.Label{Name: pairs[i], Value: pairs[i+1]})
		}
	}
	slices.SortFunc(ls, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return ls
}

// seasonal adds a series with Holt-Winters archives and samples of five days. The last day has a
// failure.
func (f *filling) seasonal(path string) {
	f.t.Helper()
	const step = 300
	d, err := rra.ParseDefinition(step, []string{"DS:requests:GAUGE:600:0:U", "RRA:AVERAGE:0.5:1:2016", "RRA:HWPREDICT:2016:0.1:0.0035:288"})
	if err != nil {
		f.t.Fatal(err)
	}
	start := f.end - f.end%step - 5*day
	ref, err := f.store.Create(f.t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(start)})
	if err != nil {
		f.t.Fatal(err)
	}
	var b core.Batch
	wave := waves("hw", 900, 500, 30)
	for at := start + step; at <= f.end; at += step {
		v := wave(at)
		if left := f.end - at; left > 6*3600 && left < 8*3600 {
			v = 150 // an outage
		}
		b.Add(ref, rra.Seconds(at), rra.Float(v))
	}
	if err := f.store.Append(f.t.Context(), &b); err != nil {
		f.t.Fatal(err)
	}
}

// hash returns a number of a text that is always the same, in [0, 1).
func hash(text string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return float64(mix(h.Sum64())>>11) / (1 << 53)
}

// mix spreads the bits of a number (the last step of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// waves returns a curve that is higher by day than by night, lower at weekends, and trembles.
func waves(name string, base, swing, noise float64) curve {
	seed := uint64(hash(name) * (1 << 53))
	phase, period := hash(name+"/phase")*3*3600, 5400+1800*hash(name+"/slow")
	return func(at int64) float64 {
		hour := math.Sin(2 * math.Pi * (float64(at) - 8*3600 - phase) / day)
		week := 1.0
		if d := (at/day + 4) % 7; d == 0 || d == 6 { // Sunday, Saturday
			week = 0.6
		}
		slow := math.Sin(2*math.Pi*float64(at)/period) * noise / 2
		jitter := (float64(mix(uint64(at/10)^seed)>>11)/(1<<53) - 0.5) * noise
		return math.Max(0, base+swing*hour*week+slow+jitter)
	}
}

// flat returns a curve that never changes.
func flat(v float64) curve { return func(int64) float64 { return v } }

func host(i int) string { return fmt.Sprintf("web%02d", i) }
