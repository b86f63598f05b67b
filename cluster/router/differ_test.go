package router_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A program is random calls of everything that an engine has, made of one store and of a router
// over several. Their answers must be the same.
type program struct {
	t    *testing.T
	rnd  *rand.Rand
	one  core.Engine
	many *router.Store
	n    int // partitions

	paths  []string // that the program uses
	defs   []*rra.Definition
	now    int64
	series []twin
	gone   []twin // references of series that were dropped or replaced
	most   int    // of the series; 0: no limit is near
	held   bool   // the reorder window holds samples back

	watches  [2]*core.Watch
	followed [2]map[string]string // path → labels, as the watches report

	mortal *mortal // the leaders of many die; nil: they do not
	drawn  int64   // times, so that no two are the same where leaders die

	reached map[string]int
}

// A twin is the references of the same series in both engines.
type twin struct {
	path string
	refs [2]core.Ref
}

func newProgram(t *testing.T, seed uint64, n int, o core.Options, reached map[string]int) *program {
	p := &program{
		t: t, rnd: rand.New(rand.NewPCG(seed, uint64(n))), n: n, now: begin, reached: reached, most: o.MaxSeries, held: o.Reorder > 0,
		one: openStores(t, 1, o)[0],
	}
	p.many = newRouter(t, openStores(t, n, o), router.Options{MaxSeries: o.MaxSeries})
	for i := range 40 {
		path := fmt.Sprintf("%s/h%d/%s", []string{"cpu", "net", "a.b"}[i%3], i/6, []string{"load", "x.rrd", "y"}[i%7%3])
		p.paths = append(p.paths, path)
	}
	p.paths = append(p.paths, "/cpu//h1/./load", "..", "a/../../b", "bad\nname", "cpu", strings.Repeat("x", 5000), "h/.rrd")
	p.defs = []*rra.Definition{
		gauge(t),
		definition(t, "DS:in:COUNTER:30:0:U", "DS:out:DERIVE:30:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:MIN:0.1:2:30", "RRA:LAST:0:1:5"),
		definition(t, "DS:a:GAUGE:20:U:100", "DS:twice:COMPUTE:a,2,*", "RRA:AVERAGE:0.5:1:12"),
		definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:30", "RRA:HWPREDICT:30:0.1:0.0035:6"),
		{Step: 10}, // invalid
		nil,
	}
	p.use(p.many)
	return p
}

// use makes the calls of another router from now on.
func (p *program) use(many *router.Store) {
	p.many = many
	for i, e := range p.engines() {
		p.watches[i], p.followed[i] = e.Watch(1<<20), make(map[string]string)
	}
}

// start returns when a series begins. Where leaders die no two begin at the same time.
func (p *program) start() rra.Time {
	if p.mortal == nil {
		return rra.Seconds(p.now - 5)
	}
	p.drawn++
	return rra.Seconds(begin - p.drawn)
}

// at returns a time in seconds, that often is before others. Where leaders die, times grow.
func (p *program) at(seconds int64) rra.Time {
	if p.mortal == nil {
		return rra.Seconds(seconds)
	}
	p.drawn++
	return rra.Seconds(p.now) + rra.Time(p.drawn)
}

func (p *program) engines() [2]core.Engine { return [2]core.Engine{p.one, p.many} }

func pickOf[T any](p *program, all []T) T { return all[p.rnd.IntN(len(all))] }

func (p *program) path() string { return pickOf(p, p.paths) }

// twin returns references that are mostly of a series.
func (p *program) twin() twin {
	switch {
	case p.rnd.IntN(20) == 0:
		bad := core.Ref(p.rnd.Uint64N(1 << 60))
		return twin{refs: [2]core.Ref{core.Ref(p.rnd.Uint64N(1<<32) | 1<<45), bad}}
	case p.rnd.IntN(10) == 0 && len(p.gone) > 0:
		return pickOf(p, p.gone)
	case len(p.series) == 0:
		return twin{}
	}
	return pickOf(p, p.series)
}

func (p *program) twins() (out []twin) {
	for range p.rnd.IntN(12) {
		out = append(out, p.twin())
	}
	return out
}

func refsOf(i int, ts []twin) (out []core.Ref) {
	for _, x := range ts {
		out = append(out, x.refs[i])
	}
	return out
}

func (p *program) labels() (out []core.Label) {
	for _, name := range []string{"host", "plugin", "unit"} {
		if p.rnd.IntN(2) == 0 {
			out = append(out, core.Label{Name: name, Value: fmt.Sprint("v", p.rnd.IntN(4))})
		}
	}
	if p.rnd.IntN(40) == 0 {
		out = append(out, core.Label{Name: "host", Value: "again"})
	}
	return out
}

func (p *program) matchers() (out []core.Matcher) {
	for range p.rnd.IntN(3) {
		switch p.rnd.IntN(6) {
		case 0:
			out = append(out, core.Below([]string{"cpu", "net/h1", "a.b", "a.b/h2/y"}[p.rnd.IntN(4)]))
		case 1:
			out = append(out, core.Matcher{Name: "host", Op: core.MatchRegexp}) // without a Regexp: refused
		default:
			m, err := core.NewMatcher(core.MatchOp(p.rnd.IntN(4)), []string{"host", "plugin", "none"}[p.rnd.IntN(3)], []string{"v1", "v[12]", "", "v3|v0"}[p.rnd.IntN(4)])
			if err != nil {
				p.t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

// refText is how errors name references, which differ.
var refText = regexp.MustCompile(`\bref \d+`)

func textOf(err error) string {
	if err == nil {
		return "ok"
	}
	return refText.ReplaceAllString(err.Error(), "ref N")
}

// kinds are the errors that callers distinguish.
var kinds = map[string]error{
	"not found": core.ErrNotFound, "exists": core.ErrExists, "limit": core.ErrSeriesLimit, "invalid": core.ErrInvalid, "shape": core.ErrShape,
}

func kindOf(err error) string {
	if err == nil {
		return "ok"
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if errors.Is(err, kinds[k]) {
			return k
		}
	}
	if _, ok := errors.AsType[*rra.TimeError](err); ok {
		return "late"
	}
	return "other"
}

// An answer is what a call has given, without references.
type answer struct {
	value any
	err   error
}

// both makes a call of both engines and compares the answers.
func (p *program) both(name string, call func(i int, e core.Engine) (any, error)) [2]answer {
	p.t.Helper()
	var got [2]answer
	for i, e := range p.engines() {
		v, err := call(i, e)
		got[i] = answer{v, err}
	}
	p.reached[name+": "+kindOf(got[0].err)]++
	if textOf(got[0].err) != textOf(got[1].err) || kindOf(got[0].err) != kindOf(got[1].err) {
		p.t.Fatalf("%s: error %q of one store, %q of %d", name, textOf(got[0].err), textOf(got[1].err), p.n)
	}
	if !same(reflect.ValueOf(got[0].value), reflect.ValueOf(got[1].value)) {
		p.t.Fatalf("%s:\n%+v of one store,\n%+v of %d", name, got[0].value, got[1].value, p.n)
	}
	return got
}

// same is reflect.DeepEqual, but numbers are equal if their bits are or if they are unknown, and
// errors if their texts are.
func same(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	if a.CanInterface() {
		if x, ok := a.Interface().(error); ok {
			y, _ := b.Interface().(error)
			return textOf(x) == textOf(y)
		}
	}
	switch a.Kind() {
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if !same(a.MapIndex(k), b.MapIndex(k)) {
				return false
			}
		}
		return true
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// plain is a series without its reference.
type plain struct {
	Path       string
	Labels     string
	Definition string
}

func plainOf(x core.Series) plain {
	d := "nil"
	if x.Definition != nil {
		d = x.Definition.String()
	}
	return plain{x.Path, fmt.Sprint(x.Labels), d}
}

// collect reads a list.
func collect(seq iter.Seq2[core.Series, error], most int) (out []core.Series, err error) {
	for x, err := range seq {
		if err != nil {
			return out, err
		}
		if out = append(out, x); len(out) == most {
			break
		}
	}
	return out, nil
}

func plains(all []core.Series, sorted bool) (out []plain) {
	for _, x := range all {
		out = append(out, plainOf(x))
	}
	if sorted {
		slices.SortFunc(out, func(a, b plain) int { return cmp.Compare(a.Path, b.Path) })
	}
	return out
}

// relearn looks up the references of all paths.
func (p *program) relearn() {
	was := p.series
	p.series = p.series[:0:0]
	found := make(map[string]twin)
	for _, path := range p.paths {
		var x twin
		var errs [2]error
		for i, e := range p.engines() {
			x.refs[i], errs[i] = e.Lookup(path)
		}
		if textOf(errs[0]) != textOf(errs[1]) {
			p.t.Fatalf("look up %q: %v and %v", path, errs[0], errs[1])
		}
		x.path = path
		if errs[0] == nil {
			p.series = append(p.series, x)
			found[path] = x
		}
	}
	for _, x := range was {
		if y, ok := found[x.path]; !ok || y.refs != x.refs {
			p.gone = append(p.gone, x)
		}
	}
	// A series that was moved to another partition has another reference there, and the same one in
	// one store: the old pair is not a pair any more.
	p.gone = slices.DeleteFunc(p.gone, func(x twin) bool {
		_, err0 := core.SeriesOf(context.Background(), p.one, x.refs[0])
		_, err1 := core.SeriesOf(context.Background(), p.many, x.refs[1])
		return (err0 == nil) != (err1 == nil)
	})
}
