package peer

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// Entries answers Resolve and Select.
func (s *Server) Entries(ctx context.Context, req *connect.Request[peerv1.EntriesRequest], stream *connect.ServerStream[peerv1.EntriesResponse]) error {
	m := req.Msg
	w := entryWriter{stream: stream}
	st := s.do(ctx, m.GetTarget(), func(e core.Engine) error {
		switch m.GetKind() {
		case peerv1.EntriesRequest_KIND_RESOLVE:
			return e.Resolve(ctx, readRefs(m.GetRefs()), func(i int, x core.Series) bool { return w.add(i, &x) })
		case peerv1.EntriesRequest_KIND_SELECT:
			return w.selected(ctx, e, m)
		}
		return malformed("entries of kind %d", m.GetKind())
	})
	return w.end(st)
}

// An entryWriter sends entries of the catalogue, many in a message.
type entryWriter struct {
	stream *connect.ServerStream[peerv1.EntriesResponse]
	defs   dictionary
	out    peerv1.EntriesResponse
	bytes  int
	more   bool  // there may be more entries behind those that are sent
	failed error // of the stream
}

// add sends an entry, now or later. It returns false when the caller is gone.
func (w *entryWriter) add(index int, x *core.Series) bool {
	w.out.Entries = append(w.out.Entries, &peerv1.Entry{
		Ref: uint64(x.Ref), Path: x.Path, Labels: types.SentLabels(x.Labels), Definition: w.defs.number(x.Definition), Index: int64(index),
	})
	w.bytes += len(x.Path) + 16
	for _, l := range x.Labels {
		w.bytes += len(l.Name) + len(l.Value) + 6
	}
	if len(w.out.Entries) < chunkItems && w.bytes < chunkBytes {
		return true
	}
	return w.flush()
}

func (w *entryWriter) flush() bool {
	w.out.Definitions = w.defs.take()
	w.failed = w.stream.Send(&w.out)
	w.out, w.bytes = peerv1.EntriesResponse{}, 0
	return w.failed == nil
}

// selected sends the series of a query, or the first of them if the request says how many are
// taken. A store reports damage at the end, so a store that has met damage sends all of them.
func (w *entryWriter) selected(ctx context.Context, e core.Engine, m *peerv1.EntriesRequest) error {
	ms, err := types.ReadMatchers(m.GetMatchers())
	if err != nil {
		return err
	}
	page := max(0, int(min(m.GetPage(), maxRefs)))
	q := core.Query{Prefix: m.GetPrefix(), After: m.GetAfter(), Matchers: ms, Order: core.Order(m.GetOrder()), Page: page, RefsOnly: m.GetRefsOnly()}
	n := 0
	for x, err := range e.Select(ctx, q) {
		if err != nil {
			return err
		}
		if q.RefsOnly {
			if w.out.Refs = append(w.out.Refs, uint64(x.Ref)); len(w.out.Refs) >= refChunk && !w.flush() {
				return nil
			}
			continue
		}
		if !w.add(0, &x) {
			return nil
		}
		if n++; n == page && e.Stats().Damaged == 0 {
			w.more = true
			return nil
		}
	}
	return nil
}

func (w *entryWriter) end(st *peerv1.Standing) error {
	if w.failed != nil {
		return w.failed
	}
	w.out.Standing, w.out.More = st, w.more
	w.flush()
	return w.failed
}

// refChunk is how many references or times a message has.
const refChunk = 64 << 10

// Lasts answers Lasts.
func (s *Server) Lasts(ctx context.Context, req *connect.Request[peerv1.RefsRequest], stream *connect.ServerStream[peerv1.LastsResponse]) error {
	var all []core.LastTime
	st := s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) (err error) {
		all, err = e.Lasts(ctx, readRefs(req.Msg.GetRefs()))
		return err
	})
	return chunked(all, refChunk, func(part []core.LastTime, last bool) error {
		m := &peerv1.LastsResponse{Times: make([]int64, len(part)), There: make([]bool, len(part)), Standing: ofLast(last, st)}
		for i, t := range part {
			m.Times[i], m.There[i] = int64(t.Time), t.There
		}
		return stream.Send(m)
	})
}

// chunked calls send with pieces of list, at least once, and the last time with last.
func chunked[T any](list []T, most int, send func(part []T, last bool) error) error {
	for {
		n := min(most, len(list))
		last := n == len(list)
		if err := send(list[:n], last); err != nil || last {
			return err
		}
		list = list[n:]
	}
}

// ofLast returns st for the last message, and nil for others.
func ofLast(last bool, st *peerv1.Standing) *peerv1.Standing {
	if last {
		return st
	}
	return nil
}

// Labels answers Labels.
func (s *Server) Labels(ctx context.Context, req *connect.Request[peerv1.LabelsRequest], stream *connect.ServerStream[peerv1.LabelsResponse]) error {
	m := req.Msg
	var found core.Labels
	st := s.do(ctx, m.GetTarget(), func(e core.Engine) error {
		ms, err := types.ReadMatchers(m.GetMatchers())
		if err != nil {
			return err
		}
		found, err = e.Labels(ctx, core.LabelQuery{Name: m.GetName(), Matchers: ms, Most: int(m.GetMost()), Combine: m.GetCombine(), Names: m.GetNames()})
		return err
	})
	if !m.GetCombine() {
		return chunked(found.Texts, 2*chunkItems, func(part []string, last bool) error {
			return stream.Send(&peerv1.LabelsResponse{Texts: part, Standing: ofLast(last, st)})
		})
	}
	var defs dictionary
	return chunked(found.Combinations, chunkItems, func(part []core.Combination, last bool) error {
		out := &peerv1.LabelsResponse{Standing: ofLast(last, st)}
		for _, c := range part {
			out.Combinations = append(out.Combinations, &peerv1.Combination{Values: c.Values, Definition: defs.number(c.Definition)})
		}
		out.Definitions = defs.take()
		return stream.Send(out)
	})
}

// ListMetadata answers ListMetadata.
func (s *Server) ListMetadata(ctx context.Context, req *connect.Request[peerv1.MetadataQuery], stream *connect.ServerStream[peerv1.MetadataResponse]) error {
	var out peerv1.MetadataResponse
	var failed error
	size := 0
	q := core.MetadataQuery{Path: req.Msg.GetPath(), Prefix: req.Msg.GetPrefix(), After: req.Msg.GetAfter()}
	st := s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		for m, err := range e.ListMetadata(ctx, q) {
			if err != nil {
				return err
			}
			out.Metadata = append(out.Metadata, types.SentMetadata(m))
			if size += 64 + len(m.Path) + len(m.Text); size < chunkBytes && len(out.Metadata) < chunkItems/8 {
				continue
			}
			if failed = stream.Send(&out); failed != nil {
				return nil
			}
			out, size = peerv1.MetadataResponse{}, 0
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	out.Standing = st
	return stream.Send(&out)
}

// Notes answers Notes.
func (s *Server) Notes(ctx context.Context, req *connect.Request[peerv1.PathRequest], stream *connect.ServerStream[peerv1.NotesResponse]) error {
	var list []*typesv1.Note
	st := s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		notes, err := e.Notes(ctx, req.Msg.GetPath())
		for key, of := range notes {
			for _, n := range of {
				list = append(list, types.SentNote(key, n))
			}
		}
		return err
	})
	return chunked(list, chunkItems, func(part []*typesv1.Note, last bool) error {
		return stream.Send(&peerv1.NotesResponse{Notes: part, Standing: ofLast(last, st)})
	})
}

// watchEvery is how often a Watch looks for changes.
const watchEvery = 20 * time.Millisecond

// Watch answers Watch.
func (s *Server) Watch(ctx context.Context, req *connect.Request[peerv1.WatchRequest], stream *connect.ServerStream[peerv1.WatchResponse]) error {
	e, err := s.engine(ctx, req.Msg.GetTarget())
	if err != nil {
		return stream.Send(&peerv1.WatchResponse{Standing: s.standing(nil, nil, err)})
	}
	w := e.Watch(int(req.Msg.GetMost()))
	defer w.End()
	if err := stream.Send(&peerv1.WatchResponse{Standing: s.standing(req.Msg.GetTarget(), e, nil)}); err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		changes, complete := w.Take()
		if !complete {
			return stream.Send(&peerv1.WatchResponse{Standing: s.standing(req.Msg.GetTarget(), e, nil), Lost: true})
		}
		if len(changes) == 0 {
			continue
		}
		err := chunked(changes, chunkItems, func(part []core.Change, _ bool) error {
			out := &peerv1.WatchResponse{Standing: s.standing(req.Msg.GetTarget(), e, nil)}
			for _, c := range part {
				out.Changes = append(out.Changes, &peerv1.Change{
					Was: c.Was, Path: c.Path, Ref: uint64(c.Ref), Labels: types.SentLabels(c.Labels), Metadata: c.Metadata,
				})
			}
			return stream.Send(out)
		})
		if err != nil {
			return err
		}
	}
}

// Backup answers Store.Backup.
func (s *Server) Backup(ctx context.Context, req *connect.Request[peerv1.BackupRequest], stream *connect.ServerStream[peerv1.PieceResponse]) error {
	st := s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		f, err := core.FolderOf(e, "backup")
		if err != nil {
			return err
		}
		return f.BackupSince(ctx, pieces(func(p []byte) error { return stream.Send(&peerv1.PieceResponse{Piece: p}) }), nil)
	})
	return stream.Send(&peerv1.PieceResponse{Standing: st})
}

// pieces is a writer that sends what is written, a piece a message.
type pieces func(p []byte) error

func (w pieces) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), pieceBytes)]
		if err := w(part); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}
