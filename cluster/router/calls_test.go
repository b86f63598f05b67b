package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// calls are the calls of a program.
var calls = []func(p *program, ctx context.Context){
	(*program).create, (*program).createBatch, (*program).createBatch,
	(*program).append, (*program).append, (*program).append, (*program).submit, (*program).submit, (*program).update, (*program).update, (*program).flush,
	(*program).lookups, (*program).resolve, (*program).lists, (*program).lists, (*program).selects, (*program).selects, (*program).labelLists,
	(*program).fetch, (*program).fetch, (*program).fetchMany, (*program).info, (*program).copies, (*program).alter, (*program).rename, (*program).rename,
	(*program).relabel, (*program).drop, (*program).dropSilent, (*program).setMetadata, (*program).setMetadata, (*program).metadata,
	(*program).expireMetadata, (*program).notes, (*program).counters, (*program).follow, (*program).memory,
}

// run makes n random calls.
func (p *program) run(n int) {
	ctx := p.t.Context()
	for range n {
		p.now += int64(p.rnd.IntN(4))
		pickOf(p, calls)(p, ctx)
	}
	p.follow(ctx)
}

func (p *program) spec() core.Spec {
	s := core.Spec{Path: p.path(), Labels: p.labels(), Definition: p.defs[p.rnd.IntN(4)], Start: p.start(), Overwrite: p.rnd.IntN(8) == 0}
	if p.rnd.IntN(15) == 0 {
		s.Definition = p.defs[4+p.rnd.IntN(2)]
	}
	return s
}

func (p *program) create(ctx context.Context) {
	s := p.spec()
	p.both("Create", func(_ int, e core.Engine) (any, error) {
		ref, err := core.Create(ctx, e, s)
		return ref != 0, err
	})
	p.relearn()
}

func (p *program) createBatch(ctx context.Context) {
	specs := make([]core.Spec, p.rnd.IntN(10))
	seen := make(map[string]bool)
	for i := range specs {
		// Near the limit, one store counts a path twice that is in a batch twice.
		for specs[i] = p.spec(); p.most > 0 && seen[clean(specs[i].Path)]; specs[i] = p.spec() {
		}
		seen[clean(specs[i].Path)] = true
	}
	if p.rnd.IntN(30) == 0 {
		specs = make([]core.Spec, core.MaxBatch+1)
	}
	p.both("CreateBatch", func(_ int, e core.Engine) (any, error) {
		out, err := e.CreateBatch(ctx, specs)
		var errs []error
		for _, x := range out {
			errs = append(errs, x.Err)
			if x.Err == nil != (x.Ref != 0) && !errors.Is(x.Err, core.ErrExists) {
				p.t.Errorf("reference %d with %v", x.Ref, x.Err)
			}
			p.reached["CreateBatch of one: "+kindOf(x.Err)]++
		}
		return errs, err
	})
	p.relearn()
}

// clean returns the look-up key of a path, or the path if it has none.
func clean(path string) string {
	if key, _, err := core.CleanPath(path); err == nil {
		return key
	}
	return path
}

// fill adds random samples of the same series to a batch for each engine.
func (p *program) fill(b *[2]core.Batch, ts []twin) {
	for i := range b {
		b[i].Rejections = p.rnd.IntN(2) * 3
		b[1].Rejections = b[0].Rejections
	}
	for _, x := range ts {
		at := p.at(p.now - int64(p.rnd.IntN(8)) + int64(p.rnd.IntN(3)))
		n := 1 + p.rnd.IntN(2)
		if p.rnd.IntN(2) == 0 {
			if s, err := core.SeriesOf(context.Background(), p.one, x.refs[0]); err == nil {
				n = 0
				for _, ds := range s.Definition.Sources {
					if ds.Kind != rra.Compute {
						n++
					}
				}
			}
		}
		values, texts := make([]rra.Value, n), []string(nil)
		for i := range values {
			values[i] = rra.Uint(p.rnd.Uint64N(1000))
			if p.rnd.IntN(6) == 0 && p.mortal == nil { // refused for its text, it may be late next time
				texts = append(texts, []string{"1.5", "U", "nonsense", strings.Repeat("9", 5000)}[p.rnd.IntN(4)])
				values[i] = rra.Text(len(texts) - 1)
			}
		}
		follow := p.rnd.IntN(3) == 0 && p.mortal == nil // see TestCommandsOfALeaderThatDied
		for i := range b {
			if texts != nil {
				b[i].AddText(x.refs[i], at, values, texts)
			} else {
				b[i].Add(x.refs[i], at, values...)
			}
			if follow {
				b[i].Follow()
			}
		}
	}
}

// rejected is an error of a batch as a value to be compared.
func rejected(err error) any {
	r, ok := errors.AsType[*core.RejectedError](err)
	if !ok {
		return nil
	}
	return *r
}

func (p *program) append(ctx context.Context) {
	var b [2]core.Batch
	p.fill(&b, p.twins())
	p.both("Append", func(i int, e core.Engine) (any, error) {
		err := core.Append(ctx, e, &b[i])
		return rejected(err), err
	})
}

// submit has several batches on their way.
func (p *program) submit(ctx context.Context) {
	const batches = 3
	var b [batches][2]core.Batch
	for k := range b {
		p.fill(&b[k], p.twins())
	}
	p.both("Submit", func(i int, e core.Engine) (any, error) {
		var tickets [batches]core.Ticket
		var out []any
		for k := range b {
			told := make(chan struct{})
			tickets[k].Notify(func() { close(told) })
			if err := e.Submit(ctx, &b[k][i], &tickets[k]); err != nil {
				return nil, err
			}
			defer func() { <-told }()
		}
		for k := range b {
			err := tickets[k].Wait()
			out = append(out, rejected(err), textOf(err))
		}
		return out, nil
	})
}

func (p *program) update(ctx context.Context) {
	var b [2]core.Batch
	x := p.twin()
	ts := slices.Repeat([]twin{x}, p.rnd.IntN(4))
	if p.rnd.IntN(10) == 0 {
		ts = append(ts, p.twin())
	}
	p.fill(&b, ts)
	skip, stopped := p.rnd.IntN(2) == 0, p.rnd.IntN(4) == 0
	p.both("Update", func(i int, e core.Engine) (any, error) {
		b[i].SkipPast, b[i].Stopped = skip && p.mortal == nil, stopped
		n, err := e.Update(ctx, x.refs[i], &b[i])
		if p.mortal != nil { // it is not known if the first attempt has applied them
			n = 0
		}
		return []any{n, rejected(err)}, err
	})
}

func (p *program) flush(ctx context.Context) {
	ts := p.twins()
	p.both("Flush", func(i int, e core.Engine) (any, error) { return nil, e.Flush(ctx, refsOf(i, ts)) })
}

func (p *program) lookups(context.Context) {
	path, x := p.path(), p.twin()
	p.both("Lookup", func(_ int, e core.Engine) (any, error) {
		ref, err := e.Lookup(path)
		return ref != 0, err
	})
	p.both("Series", func(i int, e core.Engine) (any, error) {
		s, err := core.SeriesOf(context.Background(), e, x.refs[i])
		if err == nil && s.Ref != x.refs[i] {
			p.t.Errorf("series %d says that it is %d", x.refs[i], s.Ref)
		}
		return plainOf(s), err
	})
}

func (p *program) resolve(ctx context.Context) {
	ts, most := p.twins(), p.rnd.IntN(10)
	p.both("Resolve", func(i int, e core.Engine) (any, error) {
		var out []any
		err := e.Resolve(ctx, refsOf(i, ts), func(k int, x core.Series) bool {
			if x.Ref != ts[k].refs[i] {
				p.t.Errorf("%d resolved to %d", ts[k].refs[i], x.Ref)
			}
			out = append(out, k, plainOf(x))
			return len(out) < 2*most
		})
		return out, err
	})
}

func (p *program) lists(ctx context.Context) {
	prefix, after := pickOf(p, []string{"", "cpu", "cpu/h1", "/net", "a.b/h2/x.rrd", "z"}), pickOf(p, []string{"", "", "cpu/h3", "net/h1/x.rrd", "/b"})
	most := p.rnd.IntN(20)
	taken := pickOf(p, []int{0, 0, most + 1, 1, 7, 1000}) // what the caller says may be wrong
	p.both("List", func(_ int, e core.Engine) (any, error) {
		all, err := collect(e.Select(ctx, core.Query{Prefix: prefix, After: after, Order: core.ByPath, Page: taken}), most)
		return plains(all, false), err
	})
	p.both("All", func(_ int, e core.Engine) (any, error) {
		all, err := collect(e.Select(ctx, core.Query{}), 0)
		return plains(all, true), err
	})
	p.both("ListMetadata", func(_ int, e core.Engine) (any, error) {
		var out []core.PathMetadata
		for x, err := range e.ListMetadata(ctx, core.MetadataQuery{Prefix: prefix, After: after}) {
			if err != nil {
				return out, err
			}
			out = append(out, x)
		}
		return out, nil
	})
}

func (p *program) selects(ctx context.Context) {
	ms := p.matchers()
	p.both("Select", func(_ int, e core.Engine) (any, error) {
		all, err := collect(e.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef}), 0)
		if !slices.IsSortedFunc(all, func(a, b core.Series) int { return int(int64(a.Ref) - int64(b.Ref)) }) {
			p.t.Error("Select is not in order of references")
		}
		return plains(all, true), err
	})
	p.both("Refs", func(_ int, e core.Engine) (any, error) {
		refs, err := core.Refs(ctx, e, ms)
		if !slices.IsSorted(refs) {
			p.t.Error("Refs are not in order")
		}
		var out []core.Series
		for _, ref := range refs {
			x, err := core.SeriesOf(ctx, e, ref)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return plains(out, true), err
	})
	names := []string{"host", "none", "plugin"}[:p.rnd.IntN(4)]
	p.both("Combinations", func(_ int, e core.Engine) (any, error) {
		all, err := e.Labels(ctx, core.LabelQuery{Combine: true, Names: names, Matchers: ms})
		out := []string{}
		for _, x := range all.Combinations {
			out = append(out, fmt.Sprint(x.Values, x.Definition))
		}
		slices.Sort(out)
		return out, err
	})
}

func (p *program) labelLists(ctx context.Context) {
	ms, most := p.matchers(), p.rnd.IntN(4)
	name := pickOf(p, []string{"host", "plugin", "none"})
	for _, q := range []core.LabelQuery{{}, {Matchers: ms}, {Name: name}, {Name: name, Matchers: ms, Most: most}} {
		p.both("Labels", func(_ int, e core.Engine) (any, error) { return e.Labels(ctx, q) })
	}
}

// times returns a range, an invalid one now and then.
func (p *program) times() (archive int, start, end int64) {
	start = p.now - int64(p.rnd.IntN(300))
	end = start + int64(p.rnd.IntN(300)) - 5
	if p.rnd.IntN(20) == 0 {
		end = start + 1<<50
	}
	return p.rnd.IntN(4) - p.rnd.IntN(2), start, end
}

func (p *program) fetch(ctx context.Context) {
	x := p.twin()
	archive, start, end := p.times()
	p.both("Fetch", func(i int, e core.Engine) (any, error) { return core.Fetch(ctx, e, x.refs[i], archive, start, end) })
}

func (p *program) fetchMany(ctx context.Context) {
	ts := p.twins()
	archive, start, end := p.times()
	p.both("FetchMany", func(i int, e core.Engine) (any, error) {
		out := make([]any, len(ts))
		err := e.FetchMany(ctx, core.Spans(refsOf(i, ts), archive, start, end), func(k int, r *core.Rows, err error) {
			if out[k] != nil {
				p.t.Error("told twice")
			}
			if out[k] = err; err == nil {
				copied := *r
				copied.Values = slices.Clone(r.Values)
				copied.DS = slices.Clone(r.DS)
				out[k] = copied
			}
			p.reached["FetchMany of one: "+kindOf(err)]++
		})
		return []any{out, err != nil}, nil // which error is the first depends on the references
	})
}

func (p *program) info(ctx context.Context) {
	x := p.twin()
	p.both("Info", func(i int, e core.Engine) (any, error) {
		info, err := e.Info(x.refs[i])
		return []any{plainOf(info.Series), info.State}, err
	})
	p.both("Last", func(i int, e core.Engine) (any, error) { return core.Last(ctx, e, x.refs[i]) })
	p.both("Export", func(i int, e core.Engine) (any, error) {
		c, err := e.Export(ctx, x.refs[i])
		return c, err
	})
}

// copies copies series to other paths.
func (p *program) copies(ctx context.Context) {
	ts, overwrite := p.twins(), p.rnd.IntN(3) == 0
	if p.most > 0 {
		ts = ts[:min(len(ts), 1)] // one store counts a series twice while it is replaced
	}
	paths := make([]string, len(ts))
	for i := range paths {
		for paths[i] = p.path(); slices.Contains(paths[:i], paths[i]); paths[i] = p.path() {
		}
	}
	p.both("Import", func(i int, e core.Engine) (any, error) {
		var copies []core.Copy
		for k, x := range ts {
			c, err := e.Export(ctx, x.refs[i])
			if err != nil {
				c = core.Copy{Definition: p.defs[4]}
			}
			c.Path = paths[k]
			copies = append(copies, c)
		}
		out, err := core.Import(ctx, e, copies, overwrite)
		var errs []string
		for _, x := range out {
			if p.mortal != nil && errors.Is(x.Err, core.ErrExists) { // it may be taken for made
				x.Err = nil
			}
			errs = append(errs, nearLimit(textOf(x.Err)))
			p.reached["Import of one: "+kindOf(x.Err)]++
		}
		return errs, err
	})
	p.relearn()
}

// nearLimit returns the text of an error without its verb: near the limit one store says "create"
// where it imports.
func nearLimit(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "import "), "create ")
}

func (p *program) alter(ctx context.Context) {
	path, labels, refuse := p.path(), p.labels(), p.rnd.IntN(4) == 0
	p.both("Alter", func(_ int, e core.Engine) (any, error) {
		ref, err := e.Alter(ctx, path, func(c core.Copy) (core.Copy, error) {
			c.Labels = labels
			if refuse {
				return c, core.ErrShape
			}
			return c, nil
		})
		return ref != 0, err
	})
	p.relearn()
}

func (p *program) rename(ctx context.Context) {
	from, to := p.path(), p.path()
	if p.held { // a rename to another partition applies what is held back
		p.both("Flush", func(_ int, e core.Engine) (any, error) {
			ref, err := e.Lookup(from)
			if err != nil {
				return nil, nil
			}
			return nil, e.Flush(ctx, []core.Ref{ref})
		})
	}
	p.both("Rename", func(_ int, e core.Engine) (any, error) { return nil, e.Rename(ctx, from, to) })
	p.relearn()
}

func (p *program) relabel(ctx context.Context) {
	var ls []core.PathLabels
	for range p.rnd.IntN(6) {
		ls = append(ls, core.PathLabels{Path: p.path(), Labels: p.labels()})
	}
	p.both("Relabel", func(_ int, e core.Engine) (any, error) { return e.Relabel(ctx, ls) })
}

func (p *program) drop(ctx context.Context) {
	path := p.path()
	p.both("Drop", func(_ int, e core.Engine) (any, error) { return nil, core.Drop(ctx, e, path) })
	p.relearn()
}

func (p *program) dropSilent(ctx context.Context) {
	ts, before := p.twins(), rra.Seconds(p.now-20)
	p.both("Drop silent", func(i int, e core.Engine) (any, error) {
		var list []core.Dropping
		for _, ref := range refsOf(i, ts) {
			list = append(list, core.Dropping{Ref: ref, Before: before})
		}
		out, err := e.Drop(ctx, list)
		gone := []bool{}
		for _, kept := range out {
			gone = append(gone, kept == nil)
		}
		return gone, err
	})
	p.relearn()
}

func (p *program) setMetadata(ctx context.Context) {
	var ms []core.PathMetadata
	for range p.rnd.IntN(5) {
		m := core.PathMetadata{Path: p.path(), Metadata: core.Metadata{Time: rra.Seconds(p.now), Text: fmt.Sprint("text ", p.rnd.IntN(100)), Expire: int64(p.rnd.IntN(50))}}
		switch p.rnd.IntN(8) {
		case 0:
			m.Metadata = core.Metadata{}
		case 1:
			m.Text = strings.Repeat("x", 20<<10)
		case 2:
			m.Attributes = []core.Label{{Name: "b"}, {Name: "a"}}
		case 3:
			m.Attributes = []core.Label{{Name: "unit", Value: "s"}}
		}
		ms = append(ms, m)
	}
	p.both("SetMetadata", func(_ int, e core.Engine) (any, error) {
		out, err := e.SetMetadata(ctx, ms)
		for _, err := range out {
			p.reached["SetMetadata of one: "+kindOf(err)]++
		}
		return out, err
	})
}

func (p *program) metadata(ctx context.Context) {
	path := p.path()
	p.both("Metadata", func(_ int, e core.Engine) (any, error) { return core.MetadataOf(ctx, e, path) })
}

func (p *program) expireMetadata(ctx context.Context) {
	var ms []core.PathMetadata
	for range p.rnd.IntN(3) {
		path := p.path()
		m, err := core.MetadataOf(ctx, p.one, path)
		if err != nil {
			p.t.Fatal(err)
		}
		ms = append(ms, core.PathMetadata{Path: path, Metadata: m, Expires: true})
	}
	p.both("SetMetadata", func(_ int, e core.Engine) (any, error) { return e.SetMetadata(ctx, ms) })
}

func (p *program) notes(ctx context.Context) {
	key := pickOf(p, []string{"", "cpu", "cpu/h1", "net", "x\x01", strings.Repeat("k", 9000)})
	n := core.Note{Time: rra.Seconds(p.now), Severity: "okay", Text: fmt.Sprint(p.now), Labels: p.labels()}
	if p.rnd.IntN(2) == 0 {
		p.both("AddNote", func(_ int, e core.Engine) (any, error) { return nil, e.AddNote(ctx, key, n) })
		return
	}
	p.both("Notes", func(_ int, e core.Engine) (any, error) { return e.Notes(ctx, key) })
}

func (p *program) counters(context.Context) {
	p.both("Stats", func(_ int, e core.Engine) (any, error) {
		st := e.Stats()
		if p.mortal != nil { // what is sent again is late
			st.SamplesLate, st.SamplesRefused = 0, 0
		}
		return []any{st.Series, st.SeriesLimit, st.Metadata, st.SamplesAccepted, st.SamplesLate, st.SamplesRefused, st.Held, st.Damaged, st.Newest}, nil
	})
	p.both("Renames", func(_ int, e core.Engine) (any, error) { _ = e.Renames(); return nil, nil })
}

// follow takes what the watches have collected and compares it with the catalogue.
func (p *program) follow(ctx context.Context) {
	p.both("Watch", func(i int, e core.Engine) (any, error) {
		changes, complete := p.watches[i].Take()
		known := p.followed[i]
		for _, c := range changes {
			if c.Metadata {
				continue
			}
			if c.Was != "" {
				delete(known, strings.TrimSuffix(c.Was, ".rrd"))
			}
			if c.Path != "" {
				known[strings.TrimSuffix(c.Path, ".rrd")] = fmt.Sprint(c.Labels)
			}
		}
		all, err := collect(e.Select(ctx, core.Query{Order: core.ByPath}), 0)
		if len(all) != len(known) {
			p.t.Errorf("%d series, the watch tells %d", len(all), len(known))
		}
		for _, x := range all {
			if labels, ok := known[strings.TrimSuffix(x.Path, ".rrd")]; !ok || labels != fmt.Sprint(x.Labels) {
				p.t.Errorf("%s has %v, the watch tells %q", x.Path, x.Labels, labels)
			}
		}
		return complete, err
	})
}

func (p *program) memory(context.Context) {
	p.both("MemoryShare", func(_ int, e core.Engine) (any, error) {
		s := core.ShareOf(e)
		if err := s.Resize(1 << 20); err != nil {
			return nil, err
		}
		defer func() { _ = s.Resize(0) }()
		return s.Bytes(), s.Resize(2 << 20)
	})
}
