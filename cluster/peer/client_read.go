package peer

import (
	"context"
	"io"
	"iter"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Lookup is core.Engine's.
func (c *Client) Lookup(path string) (core.Ref, error) { return c.lookup(path, false) }

// LookupLeading is Lookup for a caller who must know that a series is not there. The error wraps
// core.ErrNotLeader if the node does not lead the partition for certain. A node of a version that
// does not know the question answers as Lookup does.
func (c *Client) LookupLeading(path string) (core.Ref, error) { return c.lookup(path, true) }

func (c *Client) lookup(path string, leads bool) (core.Ref, error) {
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	t := c.target(ctx)
	t.Leads = leads
	m, err := ask(ctx, c, c.node.rpc.Lookup, &peerv1.PathRequest{Target: t, Path: path})
	return core.Ref(m.GetRef()), err
}

// entries calls fn with entries of the catalogue until it returns false. more says that the node
// has sent as many as the request asks for, and may have others.
func (c *Client) entries(ctx context.Context, req *peerv1.EntriesRequest, fn func(i int, x core.Series) bool) (more bool, err error) {
	req.Target = c.target(ctx)
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Entries(own, connect.NewRequest(req))
	var defs reading
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.EntriesResponse) (bool, error) {
		more = m.GetMore()
		if err := defs.add(m.GetDefinitions()); err != nil {
			return false, err
		}
		for _, e := range m.GetEntries() {
			d, err := defs.get(e.GetDefinition())
			if err != nil {
				return false, err
			}
			if !fn(int(e.GetIndex()), core.Series{Ref: core.Ref(e.GetRef()), Path: e.GetPath(), Labels: types.ReadLabels(e.GetLabels()), Definition: d}) {
				return false, nil
			}
		}
		for _, ref := range m.GetRefs() {
			if !fn(0, core.Series{Ref: core.Ref(ref)}) {
				return false, nil
			}
		}
		return true, nil
	})
	return more, err
}

// Resolve is core.Engine's.
func (c *Client) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	if len(refs) == 1 {
		var cancel context.CancelFunc
		ctx, cancel = c.bounded(ctx)
		defer cancel()
	}
	var damaged error
	for from := 0; from < len(refs) || from == 0; from += maxRefs {
		part := refs[from:min(from+maxRefs, len(refs))]
		stopped := false
		_, err := c.entries(ctx, &peerv1.EntriesRequest{Kind: peerv1.EntriesRequest_KIND_RESOLVE, Refs: sentRefs(part)}, func(i int, x core.Series) bool {
			stopped = !fn(from+i, x)
			return !stopped
		})
		switch {
		case isDamage(err):
			damaged = err
		case err != nil || stopped:
			return err
		}
	}
	return damaged
}

// Select is core.Engine's. If the query says how many entries the caller takes, the node is asked
// for as many, and for more when the caller goes on.
func (c *Client) Select(ctx context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		q, page := q, q.Page
		if q.Order != core.ByPath {
			page = 0
		}
		for more := true; more; page = min(2*page, maxRefs) {
			req := &peerv1.EntriesRequest{
				Kind: peerv1.EntriesRequest_KIND_SELECT, Prefix: q.Prefix, After: q.After, Matchers: types.SentMatchers(q.Matchers),
				Order: int64(q.Order), RefsOnly: q.RefsOnly, Page: int64(page),
			}
			going, n := true, 0
			var err error
			more, err = c.entries(ctx, req, func(_ int, x core.Series) bool {
				q.After, n = x.Path, n+1
				going = yield(x, nil)
				return going
			})
			if err == nil && more && n == 0 {
				err = malformed("more entries behind none")
			}
			if !going {
				return
			}
			if err != nil {
				yield(core.Series{}, err)
				return
			}
		}
	}
}

// Labels is core.Engine's.
func (c *Client) Labels(ctx context.Context, q core.LabelQuery) (core.Labels, error) {
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Labels(own, connect.NewRequest(&peerv1.LabelsRequest{
		Target: c.target(ctx), Name: q.Name, Matchers: types.SentMatchers(q.Matchers), Most: int64(q.Most), Combine: q.Combine, Names: q.Names,
	}))
	var defs reading
	var out core.Labels
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.LabelsResponse) (bool, error) {
		out.Texts = append(out.Texts, m.GetTexts()...)
		if err := defs.add(m.GetDefinitions()); err != nil {
			return false, err
		}
		for _, x := range m.GetCombinations() {
			d, err := defs.get(x.GetDefinition())
			if err != nil {
				return false, err
			}
			out.Combinations = append(out.Combinations, core.Combination{Values: x.GetValues(), Definition: d})
		}
		return true, nil
	})
	return out, err
}

// Info is core.Engine's.
func (c *Client) Info(ref core.Ref) (core.Info, error) {
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	m, err := ask(ctx, c, c.node.rpc.Info, &peerv1.RefRequest{Target: c.target(ctx), Ref: uint64(ref)})
	if err != nil {
		return core.Info{}, err
	}
	d, err := core.ParseDefinition(m.GetDefinition())
	if err == nil && d == nil {
		err = malformed("a series without a definition")
	}
	if err != nil {
		return core.Info{}, err
	}
	machine, err := rra.Compile(d)
	if err != nil {
		return core.Info{}, err
	}
	e := m.GetEntry()
	return core.Info{
		Series:  core.Series{Ref: core.Ref(e.GetRef()), Path: e.GetPath(), Labels: types.ReadLabels(e.GetLabels()), Definition: d},
		Machine: machine,
		State:   rra.State{W: m.GetState(), Text: m.GetTexts()},
	}, nil
}

// Export is core.Engine's.
func (c *Client) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Export(own, connect.NewRequest(&peerv1.RefRequest{Target: c.target(ctx), Ref: uint64(ref)}))
	r := copyReader{left: DefaultMaxCopy}
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.PieceResponse) (bool, error) {
		_, err := r.add(m.GetPiece(), false)
		return true, err
	})
	if err != nil {
		return core.Copy{}, err
	}
	x, err := r.add(nil, true)
	if err != nil {
		return core.Copy{}, err
	}
	return *x, nil
}

// ListMetadata is core.Engine's.
func (c *Client) ListMetadata(ctx context.Context, q core.MetadataQuery) iter.Seq2[core.PathMetadata, error] {
	return func(yield func(core.PathMetadata, error) bool) {
		own, cancel := context.WithCancel(ctx)
		if q.Path != "" {
			own, cancel = c.bounded(ctx)
		}
		req := &peerv1.MetadataQuery{Target: c.target(ctx), Path: q.Path, Prefix: q.Prefix, After: q.After}
		in, err := c.node.rpc.ListMetadata(own, connect.NewRequest(req))
		going := true
		err = drain(ctx, c, cancel, in, err, func(m *peerv1.MetadataResponse) (bool, error) {
			for _, x := range m.GetMetadata() {
				if going = yield(types.ReadMetadata(x), nil); !going {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil && going {
			yield(core.PathMetadata{}, err)
		}
	}
}

// Notes is core.Engine's.
func (c *Client) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Notes(own, connect.NewRequest(&peerv1.PathRequest{Target: c.target(ctx), Path: key}))
	notes := make(map[string][]core.Note)
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.NotesResponse) (bool, error) {
		for _, n := range m.GetNotes() {
			notes[n.GetKey()] = append(notes[n.GetKey()], types.ReadNote(n))
		}
		return true, nil
	})
	return notes, err
}

// Backup writes a backup of the partition's database to w: see core.Store.Backup.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Backup(own, connect.NewRequest(&peerv1.BackupRequest{Target: c.target(ctx)}))
	return drain(ctx, c, cancel, in, err, func(m *peerv1.PieceResponse) (bool, error) {
		_, err := w.Write(m.GetPiece())
		return true, err
	})
}

// Names in the answer of Digest.
const (
	digestAt  = "at"
	digestSum = "sum"
)

// TakeDigest lets the replicas of the partition take a digest: see core.Store.TakeDigest. It works
// half of the time, whatever the share.
func (c *Client) TakeDigest(ctx context.Context, _ float64) (core.Digested, error) {
	return c.digest(ctx, 0)
}

// AwaitDigest returns the digest that was taken at a position: see core.Store.AwaitDigest.
func (c *Client) AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error) {
	d, err := c.digest(ctx, at)
	return d.Sum, err
}

// digest asks for the digest at a position; 0: for a new one.
func (c *Client) digest(ctx context.Context, at wal.Pos) (core.Digested, error) {
	t := c.target(ctx)
	t.After = uint64(at)
	m, err := ask(ctx, c, c.node.rpc.Digest, &peerv1.StateRequest{Target: t})
	return core.Digested{At: wal.Pos(m.GetGroups()[digestAt]), Sum: m.GetGroups()[digestSum]}, err
}

// Lasts is core.Engine's.
func (c *Client) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	if len(refs) == 1 {
		var cancel context.CancelFunc
		ctx, cancel = c.bounded(ctx)
		defer cancel()
	}
	out := make([]core.LastTime, 0, len(refs))
	for from := 0; from < len(refs); from += maxRefs {
		part := refs[from:min(from+maxRefs, len(refs))]
		own, cancel := context.WithCancel(ctx)
		in, err := c.node.rpc.Lasts(own, connect.NewRequest(&peerv1.RefsRequest{Target: c.target(ctx), Refs: sentRefs(part)}))
		err = drain(ctx, c, cancel, in, err, func(m *peerv1.LastsResponse) (bool, error) {
			if len(m.GetTimes()) != len(m.GetThere()) || len(out)+len(m.GetTimes()) > from+len(part) {
				return false, malformed("%d times and %d marks", len(m.GetTimes()), len(m.GetThere()))
			}
			for i, t := range m.GetTimes() {
				out = append(out, core.LastTime{Time: rra.Time(t), There: m.GetThere()[i]})
			}
			return true, nil
		})
		if err == nil && len(out) != from+len(part) {
			err = malformed("%d times of %d series", len(out)-from, len(part))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
