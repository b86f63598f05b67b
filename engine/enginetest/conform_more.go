package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

func (r *recording) fetch() {
	eth0, eth1, cpu := r.look("net/eth0"), r.look("net/eth1"), r.look("cpu/0")
	for _, x := range []struct {
		ref     core.Ref
		archive int
		from    int64
		to      int64
	}{{eth0, 0, begin + 400, begin + 1200}, {eth0, 1, begin, begin + 2000}, {eth1, 0, begin - 5, begin + 300}, {cpu, 0, begin, begin + 500}, {noRef, 0, 0, 10}, {eth0, 9, 0, 10}, {eth0, core.OpenRow, 0, 0}, {noRef, core.OpenRow, 0, 0}, {eth0, 0, 0, 1 << 40}} {
		rows, err := core.Fetch(ctx, r.e, x.ref, x.archive, x.from, x.to)
		r.say("Fetch", "%v %s", rows, r.fault(err))
	}
	for _, archive := range []int{0, core.OpenRow} {
		out := make([]string, 4)
		err := r.e.FetchMany(ctx, core.Spans([]core.Ref{eth1, eth0, noRef, cpu}, archive, begin, begin+700), func(i int, rows *core.Rows, err error) {
			if out[i] = r.fault(err); err == nil {
				out[i] = fmt.Sprint(*rows)
			}
		})
		r.say("FetchMany", "%q %s", out, r.fault(err))
	}
	r.say("FetchMany", "%s", r.fault(r.e.FetchMany(ctx, nil, nil)))
	spans := []core.Span{
		{Ref: eth0, Start: begin, End: begin + 700},
		{Ref: eth1, Archive: 1, Start: begin, End: begin + 2000},
		{Ref: noRef, End: 10},
		{Ref: eth0, Archive: core.OpenRow},
		{Ref: eth0, Start: begin - 900, End: begin + 300, Known: true},
		{Ref: eth0, Start: begin - 900, End: begin - 300, Known: true},
		{Ref: cpu, Start: 7, End: 3, Known: true},
	}
	out := make([]string, len(spans))
	err := r.e.FetchMany(ctx, spans, func(i int, rows *core.Rows, err error) {
		if out[i] += r.fault(err); err == nil {
			out[i] += fmt.Sprint(*rows)
		}
	})
	r.say("FetchMany", "%q %t", out, err != nil)
}

func (r *recording) annotate() {
	set := []core.PathMetadata{
		{Path: "net/eth0", Metadata: core.Metadata{Time: 5, Text: "up", Attributes: label("unit", "bytes"), Expire: 60}},
		{Path: "net/text", Metadata: core.Metadata{Time: 6, Text: "only text"}},
		{Path: "bad\n", Metadata: core.Metadata{Time: 6, Text: "x"}},
	}
	errs, err := r.e.SetMetadata(ctx, set)
	for i, e := range errs {
		r.say("SetMetadata", "%d %s", i, r.fault(e))
	}
	r.say("SetMetadata", "%s", r.fault(err))
	show := func(when string) {
		for _, p := range []string{"net/eth0", "net/eth0.rrd", "net/text", "nothing", "a\xff"} {
			m, err := core.MetadataOf(ctx, r.e, p)
			r.say("MetadataOf", "%s %q %+v %s", when, p, m, r.fault(err))
		}
		var out []string
		for m, err := range r.e.ListMetadata(ctx, core.MetadataQuery{Prefix: "net/"}) {
			out = append(out, fmt.Sprintf("%+v %s", m, r.fault(err)))
		}
		r.say("ListMetadata", "%s %q", when, out)
	}
	show("set")
	set[0].Expires, set[1].Expires = true, true
	errs, err = r.e.SetMetadata(ctx, set[:2])
	r.say("SetMetadata", "expires %v %s", errs, r.fault(err))
	show("expired")
	for i := range 3 {
		n := core.Note{Time: rra.Time(i), Severity: "warning", Text: fmt.Sprint("note ", i), Labels: label("host", "a")}
		r.say("AddNote", "%s", r.fault(r.e.AddNote(ctx, fmt.Sprintf("net/eth%d", i%2), n)))
	}
	r.say("AddNote", "%s", r.fault(r.e.AddNote(ctx, "a\n", core.Note{})))
	for _, key := range []string{"", "net", "net/eth0", "none"} {
		notes, err := r.e.Notes(ctx, key)
		r.say("Notes", "%q %+v %s", key, notes, r.fault(err))
	}
}

func (r *recording) copies() {
	c, err := r.e.Export(ctx, r.look("cpu/0"))
	packed, _ := c.AppendBinary(nil)
	r.say("Export", "%x %s", packed, r.fault(err))
	_, err = r.e.Export(ctx, noRef)
	r.say("Export", "%s", r.fault(err))
	other, broken := c, c
	other.Path, other.Labels = "cpu/1", label("host", "imported")
	broken.Path, broken.State = "cpu/2", rra.State{}
	made, err := core.Import(ctx, r.e, []core.Copy{other, broken, c}, false)
	for i, x := range made {
		r.say("Import", "%d %s %s", i, r.ref(x.Ref, fmt.Sprint("imported", i)), r.fault(x.Err))
	}
	r.say("Import", "%s", r.fault(err))
	made, err = core.Import(ctx, r.e, nil, false)
	r.say("Import", "%d %s", len(made), r.fault(err))
	back, err := r.e.Export(ctx, r.look("cpu/1"))
	packed, _ = back.AppendBinary(nil)
	r.say("Export", "%x %s", packed, r.fault(err))

	ref, err := r.e.Alter(ctx, "cpu/1", func(c core.Copy) (core.Copy, error) {
		c.Labels = label("host", "altered")
		return c, nil
	})
	r.say("Alter", "%s %s", r.ref(ref, "altered"), r.fault(err))
	refusal := errors.New("the function of the caller says no")
	_, err = r.e.Alter(ctx, "cpu/1", func(core.Copy) (core.Copy, error) { return core.Copy{}, refusal })
	r.say("Alter", "as it is: %v, %s", err == refusal, r.fault(err))
	_, err = r.e.Alter(ctx, "none", func(c core.Copy) (core.Copy, error) { return c, nil })
	r.say("Alter", "%s", r.fault(err))
	_, err = r.e.Alter(ctx, "cpu/1", func(c core.Copy) (core.Copy, error) { c.State = rra.State{}; return c, nil })
	r.say("Alter", "%s", r.fault(err))
	x, err := core.SeriesOf(ctx, r.e, r.look("cpu/1"))
	r.say("Alter", "%s %s", r.series(x), r.fault(err))
}

func (r *recording) rename() {
	w := r.e.Watch(100)
	before := r.e.Renames()
	r.say("Rename", "%s", r.fault(r.e.Rename(ctx, "net/eth2", "net/eth3")))
	r.say("Rename", "%s", r.fault(r.e.Rename(ctx, "net/eth2", "net/eth4")))
	r.say("Rename", "%s", r.fault(r.e.Rename(ctx, "net/eth1", "net/eth0")))
	r.say("Renames", "it grows: %v", r.e.Renames() > before)
	errs, err := r.e.Relabel(ctx, []core.PathLabels{{Path: "net/eth3", Labels: label("host", "z")}, {Path: "none"}, {Path: "net/eth1", Labels: label("", "x")}})
	for i, e := range errs {
		r.say("Relabel", "%d %s", i, r.fault(e))
	}
	r.say("Relabel", "%s", r.fault(err))
	r.say("Watch", "%q", r.changes(w, 2))
	w.End()
	_, complete := w.Take()
	r.say("Watch", "after its end: %v", complete)
}

// changes takes n changes of a watch; the last ones may be on their way still.
func (r *recording) changes(w *core.Watch, n int) (out []string) {
	for range 1000 {
		changes, complete := w.Take()
		for _, c := range changes {
			name := r.ref(c.Ref, "watched")
			out = append(out, fmt.Sprintf("%s %q %q %v %v", name, c.Was, c.Path, c.Labels, c.Metadata))
		}
		if !complete {
			out = append(out, "incomplete")
		}
		if len(out) >= n {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	slices.Sort(out)
	return out
}

func (r *recording) drop() {
	r.say("Drop", "%s", r.fault(core.Drop(ctx, r.e, "cpu/1")))
	r.say("Drop", "%s", r.fault(core.Drop(ctx, r.e, "cpu/1")))
	r.say("Drop", "%s", r.fault(core.Drop(ctx, r.e, "")))
	eth1, eth3 := r.look("net/eth1"), r.look("net/eth3")
	last, err := core.Last(ctx, r.e, eth1)
	if err != nil {
		r.Fatal(err)
	}
	out, err := r.e.Drop(ctx, []core.Dropping{{Ref: eth1, Before: last - 1}, {Path: "none"}, {Ref: eth3, Before: rra.Seconds(begin + 1)}, {Ref: noRef, Before: 5}})
	for i := range out {
		r.say("Drop", "%d: %s %s", i, r.fault(out[i]), r.fault(err))
	}
	r.say("List", "%s", r.list(r.e.Select(ctx, core.Query{Order: core.ByPath}), false))
}

// settle waits until counters, which may be some seconds old, are current.
func settle[T comparable](now func() T, want T) T {
	for range 1000 {
		if now() == want {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return now()
}

func (r *recording) counters() {
	series := settle(func() int64 { return r.e.Stats().Series }, 3)
	st := r.e.Stats()
	r.say("Stats", "%d series of %d, %d with metadata, %d samples, %d late, %d refused", series, st.SeriesLimit, st.Metadata, st.SamplesAccepted, st.SamplesLate, st.SamplesRefused)
	r.say("Stats", "calls are timed: %v", st.FetchSeconds.Count() > 0)
	r.say("Newest", "%d", settle(func() rra.Time { return r.e.Stats().Newest }, rra.Seconds(begin+2010)))
	r.say("Damaged", "%d", r.e.Stats().Damaged)
	m := core.ShareOf(r.e)
	err := m.Resize(1000)
	r.say("MemoryShare", "%d %s", m.Bytes(), r.fault(err))
	r.say("MemoryShare", "too much: %v, then %d", errors.Is(m.Resize(1<<60), core.ErrMemory), m.Bytes())
	err = m.Resize(0)
	r.say("MemoryShare", "%d %s", m.Bytes(), r.fault(err))
}
