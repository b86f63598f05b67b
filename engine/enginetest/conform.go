package enginetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Conform calls every method of e, which is empty, and of a new Store with the same arguments, and
// fails the test where what they do differs. References and the order of what has no order may
// differ. options are for the Store, and should be the ones of e.
func Conform(t *testing.T, e core.Engine, options core.Options) {
	t.Helper()
	want := record(t, OpenDir(t, t.TempDir(), options))
	got := record(t, e)
	for m := range reflect.TypeFor[core.Engine]().Methods() {
		if len(want[m.Name]) == 0 {
			t.Errorf("%s: no step of Conform calls it", m.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if slices.Equal(got[name], want[name]) {
			continue
		}
		for i := range max(len(got[name]), len(want[name])) {
			a, b := "nothing", "nothing"
			if i < len(got[name]) {
				a = got[name][i]
			}
			if i < len(want[name]) {
				b = want[name][i]
			}
			if a != b {
				t.Errorf("%s:\n got %s\nwant %s", name, a, b)
			}
		}
	}
}

// A recording is what the methods of an engine have returned, in words.
type recording struct {
	*testing.T
	e     core.Engine
	out   map[string][]string // by method
	names map[core.Ref]string // what references are called
}

func record(t *testing.T, e core.Engine) map[string][]string {
	r := &recording{T: t, e: e, out: make(map[string][]string), names: map[core.Ref]string{0: "none"}}
	for _, step := range []func(){
		r.create, r.append, r.update, r.catalogue, r.labels, r.fetch, r.annotate, r.copies, r.rename, r.drop, r.counters,
	} {
		step()
	}
	return r.out
}

// say notes what a method has done.
func (r *recording) say(method, format string, args ...any) {
	r.out[method] = append(r.out[method], fmt.Sprintf(format, args...))
}

// sentinels are the errors by which callers decide.
var sentinels = []error{
	core.ErrNotFound, core.ErrExists, core.ErrInvalid, core.ErrShape, core.ErrSeriesLimit, core.ErrMemory, core.ErrDamaged,
	core.ErrUnavailable, core.ErrTooLarge, context.Canceled,
}

// fault returns an error in words: what it matches, and its text without references.
func (r *recording) fault(err error) string {
	if err == nil {
		return "ok"
	}
	var is []string
	for _, s := range sentinels {
		if errors.Is(err, s) {
			is = append(is, s.Error())
		}
	}
	if e, ok := errors.AsType[*core.RejectedError](err); ok {
		var first []string
		for _, x := range e.First {
			first = append(first, fmt.Sprintf("%d: %s", x.Index, r.fault(x.Err)))
		}
		return fmt.Sprintf("rejected: %d accepted, %d late, %d other: %q", e.Accepted, e.Late, e.Other, first)
	}
	if e, ok := errors.AsType[*rra.TimeError](err); ok {
		is = append(is, fmt.Sprintf("late %d after %d", e.At, e.Last))
	}
	if e, ok := errors.AsType[*rra.ValueError](err); ok {
		is = append(is, fmt.Sprintf("value of source %d %s", e.DS, e.Name))
	}
	text := err.Error()
	for ref, name := range r.names {
		if ref != 0 {
			text = strings.ReplaceAll(text, fmt.Sprintf("ref %d", ref), "ref of "+name)
		}
	}
	return fmt.Sprintf("%q %s", is, text)
}

// ref returns the name of a reference. It gets one when it is seen first.
func (r *recording) ref(ref core.Ref, name string) string {
	if old, ok := r.names[ref]; ok {
		return old
	}
	r.names[ref] = fmt.Sprintf("%s#%d", name, len(r.names))
	return r.names[ref]
}

func (r *recording) series(x core.Series) string {
	return fmt.Sprintf("%s %s %v %x", r.ref(x.Ref, x.Path), x.Path, x.Labels, core.AppendDefinition(nil, x.Definition))
}

// list returns what a sequence yields, sorted if it has no order.
func (r *recording) list(seq iter.Seq2[core.Series, error], sorted bool) string {
	var out []string
	for x, err := range seq {
		if err != nil {
			out = append(out, r.fault(err))
			break
		}
		out = append(out, r.series(x))
	}
	if sorted {
		slices.Sort(out)
	}
	return strings.Join(out, "; ")
}

func (r *recording) definition(lines ...string) *rra.Definition {
	d, err := rra.ParseDefinition(10, lines)
	if err != nil {
		r.Fatal(err)
	}
	return d
}

func (r *recording) gauge() *rra.Definition {
	return r.definition("DS:a:GAUGE:20:0:U", "DS:b:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:60", "RRA:MAX:0.5:6:20")
}

// begin is the start of the series of a recording, in seconds.
const begin = 1_600_000_000

var ctx = context.Background()

func label(pairs ...string) (out []core.Label) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, core.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func (r *recording) create() {
	ref, err := core.Create(ctx, r.e, core.Spec{Path: "net/eth0.rrd", Definition: r.gauge(), Labels: label("host", "a", "if", "eth0"), Start: rra.Seconds(begin)})
	r.say("Create", "%s %s", r.ref(ref, "eth0"), r.fault(err))
	ref, err = core.Create(ctx, r.e, core.Spec{Path: "net/eth0", Definition: r.gauge()})
	r.say("Create", "%s %s", r.ref(ref, "eth0"), r.fault(err))
	_, err = core.Create(ctx, r.e, core.Spec{Path: "no definition"})
	r.say("Create", "%s", r.fault(err))
	_, err = core.Create(ctx, r.e, core.Spec{Path: "bad\n\xff", Definition: r.gauge()})
	r.say("Create", "%s", r.fault(err))
	texts := r.definition("DS:x:COUNTER:30:U:U", "DS:y:COMPUTE:x,2,*", "RRA:LAST:0.5:1:10", "RRA:HWPREDICT:20:0.1:0.0035:10")
	made, err := r.e.CreateBatch(ctx, []core.Spec{
		{Path: "net/eth1", Definition: r.gauge(), Labels: label("host", "b", "if", "eth1"), Start: rra.Seconds(begin)},
		{Path: "net/eth0", Definition: r.gauge()},
		{Path: "cpu/0", Definition: texts, Labels: label("host", "a"), Start: rra.Seconds(begin), SmoothHash: 7},
		{Path: "../x", Definition: r.gauge()},
		{Path: "net/eth2", Definition: r.gauge(), Labels: label("host", "c", "if", "eth2"), Start: rra.Seconds(begin)},
	})
	for i, x := range made {
		r.say("CreateBatch", "%d %s %s", i, r.ref(x.Ref, fmt.Sprint("made", i)), r.fault(x.Err))
	}
	r.say("CreateBatch", "%s", r.fault(err))
	_, err = r.e.CreateBatch(ctx, make([]core.Spec, core.MaxBatch+1))
	r.say("CreateBatch", "%s", r.fault(err))
	made, err = r.e.CreateBatch(ctx, nil)
	r.say("CreateBatch", "%d %s", len(made), r.fault(err))
}

// look returns the reference of a path that exists.
func (r *recording) look(path string) core.Ref {
	ref, err := r.e.Lookup(path)
	if err != nil {
		r.Fatalf("look up %q: %v", path, err)
	}
	return ref
}

const noRef = core.Ref(77)<<32 | 5 // no series has it

func (r *recording) append() {
	eth0, eth1 := r.look("net/eth0"), r.look("net/eth1")
	var b core.Batch
	for i := range int64(100) {
		b.Add(eth0, rra.Seconds(begin+10*i+10), rra.Float(float64(i)), rra.Int(-i))
	}
	b.AddText(eth1, rra.Seconds(begin+10), []rra.Value{rra.Text(1), rra.Unknown}, []string{"unused", "12.50"})
	b.AddText(eth1, rra.Seconds(begin+20), []rra.Value{rra.Text(0), rra.Uint(1 << 63)}, []string{"13e-1"})
	r.say("Append", "%s", r.fault(core.Append(ctx, r.e, &b)))
	b.Reset()
	b.Add(eth0, rra.Seconds(begin+10), rra.Int(1), rra.Int(2))     // late
	b.Add(eth0, rra.Seconds(begin+2000), rra.Int(1), rra.Int(2))   // taken
	b.Add(eth0, rra.Seconds(begin+2010), rra.Int(1))               // of another shape
	b.Add(noRef, rra.Seconds(begin+2010), rra.Int(1), rra.Int(2))  // of no series
	b.Add(eth1, rra.Seconds(begin+30), rra.Float(1), rra.Float(2)) // its second one is late
	b.Add(eth1, rra.Seconds(begin+25), rra.Float(1), rra.Float(2))
	b.Follow()
	b.Add(eth1, rra.Seconds(begin+40), rra.Float(1), rra.Float(2))
	b.Follow()
	r.say("Append", "%s", r.fault(core.Append(ctx, r.e, &b)))
	b.Rejections = 2
	var t core.Ticket
	told := make(chan struct{}, 1)
	t.Notify(func() { told <- struct{}{} })
	if err := r.e.Submit(ctx, &b, &t); err != nil {
		r.Fatal(err)
	}
	<-told
	r.say("Submit", "%v %s", t.Done(), r.fault(t.Wait()))
	b.Reset()
	r.say("Append", "of nothing: %s", r.fault(core.Append(ctx, r.e, &b)))
}

func (r *recording) update() {
	eth1 := r.look("net/eth1")
	var b core.Batch
	for i := range int64(20) {
		b.Add(eth1, rra.Seconds(begin+100+10*i), rra.Float(float64(i)), rra.Int(i))
	}
	n, err := r.e.Update(ctx, eth1, &b)
	r.say("Update", "%d %s", n, r.fault(err))
	n, err = r.e.Update(ctx, eth1, &b)
	r.say("Update", "%d %s", n, r.fault(err))
	b.SkipPast = true
	n, err = r.e.Update(ctx, eth1, &b)
	r.say("Update", "%d %s", n, r.fault(err))
	b.Reset()
	b.AddText(eth1, rra.Seconds(begin+400), []rra.Value{{Tag: rra.TagInvalid}, rra.Int(1)}, []string{"no number"})
	n, err = r.e.Update(ctx, eth1, &b)
	r.say("Update", "%d %s", n, r.fault(err))
	r.say("Flush", "%s", r.fault(r.e.Flush(ctx, []core.Ref{eth1, noRef})))
	cpu := r.look("cpu/0")
	b.Reset()
	for i := range int64(40) {
		b.Add(cpu, rra.Seconds(begin+10+10*i), rra.Uint(uint64(1000*i+i*i)))
	}
	r.say("Append", "%s", r.fault(core.Append(ctx, r.e, &b)))
}

func (r *recording) catalogue() {
	for _, p := range []string{"net/eth0", "net/eth0.rrd", "./net//eth1", "net/eth9", "", "a\xff"} {
		ref, err := r.e.Lookup(p)
		r.say("Lookup", "%q %s %s", p, r.ref(ref, p), r.fault(err))
	}
	eth0, eth1, cpu := r.look("net/eth0"), r.look("net/eth1"), r.look("cpu/0")
	for _, ref := range []core.Ref{eth0, cpu, noRef} {
		x, err := core.SeriesOf(ctx, r.e, ref)
		r.say("Series", "%s %s", r.series(x), r.fault(err))
		at, err := core.Last(ctx, r.e, ref)
		r.say("Last", "%d %s", at, r.fault(err))
		info, err := r.e.Info(ref)
		r.say("Info", "%s %x %q %s", r.series(info.Series), info.State.W, info.State.Text, r.fault(err))
		if err == nil {
			r.say("Info", "%s", info.Machine.Shape())
		}
	}
	times, err := r.e.Lasts(ctx, []core.Ref{eth1, noRef, cpu})
	r.say("Lasts", "%v %s", times, r.fault(err))
	var out []string
	err = r.e.Resolve(ctx, []core.Ref{eth1, noRef, cpu, eth0}, func(i int, x core.Series) bool {
		out = append(out, fmt.Sprint(i, " ", r.series(x)))
		return true
	})
	r.say("Resolve", "%q %s", out, r.fault(err))
	n := 0
	err = r.e.Resolve(ctx, []core.Ref{eth1, cpu, eth0}, func(int, core.Series) bool { n++; return n < 2 })
	r.say("Resolve", "%d %s", n, r.fault(err))
	r.say("Select", "%s", r.list(r.e.Select(ctx, core.Query{Order: core.ByPath}), false))
	r.say("Select", "%s", r.list(r.e.Select(ctx, core.Query{Prefix: "net/", After: "net/eth0", Order: core.ByPath}), false))
	for _, taken := range []int{1, 2, 3, 100} { // who goes on gets the others too
		r.say("Select", "%s", r.list(r.e.Select(ctx, core.Query{Order: core.ByPath, Page: taken}), false))
	}
	for x, err := range r.e.Select(ctx, core.Query{Order: core.ByPath}) {
		r.say("Select", "the first one: %s %s", r.series(x), r.fault(err))
		break // whoever stops is not called again
	}
	r.say("Select", "%s", r.list(r.e.Select(ctx, core.Query{}), true))
	for _, q := range []core.Query{{After: "a"}, {Order: core.ByPath, RefsOnly: true}, {Order: 9}} {
		r.say("Select", "%s", r.list(r.e.Select(ctx, q), false))
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range r.e.Select(over, core.Query{Order: core.ByPath}) {
		r.say("Select", "ended: %v", errors.Is(err, context.Canceled))
	}
}

// sets are selections by labels.
func (r *recording) sets() (sets [][]core.Matcher) {
	m := func(op core.MatchOp, name, value string) core.Matcher {
		x, err := core.NewMatcher(op, name, value)
		if err != nil {
			r.Fatal(err)
		}
		return x
	}
	return [][]core.Matcher{
		nil,
		{m(core.MatchEqual, "host", "a")},
		{m(core.MatchRegexp, "if", "eth[12]")},
		{m(core.MatchNotRegexp, "if", ".+"), m(core.MatchNotEqual, "host", "b")},
		{core.Below("net")},
		{core.Below()},
		{core.Below("net"), m(core.MatchEqual, "host", "a")},
		{m(core.MatchEqual, "host", "nobody")},
	}
}

func (r *recording) labels() {
	for i, ms := range r.sets() {
		r.say("Select", "%d: %s", i, r.list(r.e.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef}), true))
		refs, err := core.Refs(ctx, r.e, ms)
		var out []string
		for _, ref := range refs {
			out = append(out, r.ref(ref, "selected"))
		}
		sorted := slices.IsSorted(refs)
		slices.Sort(out)
		r.say("Select", "%d: %q in order: %v, %s", i, out, sorted, r.fault(err))
		names, err := r.e.Labels(ctx, core.LabelQuery{Matchers: ms})
		r.say("Labels", "%d: %q %s", i, names.Texts, r.fault(err))
		values, err := r.e.Labels(ctx, core.LabelQuery{Name: "host", Matchers: ms, Most: 2})
		r.say("Labels", "%d: %q %s", i, values.Texts, r.fault(err))
		cs, err := r.e.Labels(ctx, core.LabelQuery{Combine: true, Names: []string{"if", "host"}, Matchers: ms})
		var all []string
		for _, c := range cs.Combinations {
			all = append(all, fmt.Sprintf("%q %x", c.Values, core.AppendDefinition(nil, c.Definition)))
		}
		slices.Sort(all)
		r.say("Labels", "%d: combined: %s %s", i, strings.Join(all, "; "), r.fault(err))
	}
	names, err := r.e.Labels(ctx, core.LabelQuery{})
	r.say("Labels", "%q %s", names.Texts, r.fault(err))
	for _, n := range []string{"host", "if", "none"} {
		values, err := r.e.Labels(ctx, core.LabelQuery{Name: n})
		r.say("Labels", "%q %q %s", n, values.Texts, r.fault(err))
	}
}
