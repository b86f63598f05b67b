package peer

import (
	"context"
	"encoding/json"
	"fmt"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// The methods of one question and one answer: each does what the method of core.Engine does.

// State answers Stats.
func (s *Server) State(ctx context.Context, req *connect.Request[peerv1.StateRequest]) (*connect.Response[peerv1.StateResponse], error) {
	var out peerv1.StateResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) (err error) {
		out.Stats, err = json.Marshal(e.Stats())
		return err
	})
	return answer(&out)
}

// Update answers Update.
func (s *Server) Update(ctx context.Context, req *connect.Request[peerv1.UpdateRequest]) (*connect.Response[peerv1.UpdateResponse], error) {
	m := req.Msg
	var out peerv1.UpdateResponse
	out.Standing = s.do(ctx, m.GetTarget(), func(e core.Engine) error {
		var b core.Batch
		if _, err := new(batchReader).read(m.GetBatch(), &b); err != nil {
			return err
		}
		n, err := e.Update(numbered(ctx, m.GetTarget()), core.Ref(m.GetRef()), &b)
		out.Applied = int64(n)
		return err
	})
	return answer(&out)
}

// Flush answers Flush.
func (s *Server) Flush(ctx context.Context, req *connect.Request[peerv1.RefsRequest]) (*connect.Response[peerv1.DoneResponse], error) {
	return answer(&peerv1.DoneResponse{Standing: s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		return e.Flush(ctx, readRefs(req.Msg.GetRefs()))
	})})
}

// Lookup answers Lookup.
func (s *Server) Lookup(ctx context.Context, req *connect.Request[peerv1.PathRequest]) (*connect.Response[peerv1.RefResponse], error) {
	var out peerv1.RefResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		if t := req.Msg.GetTarget(); t.GetLeads() && s.Leads != nil {
			if err := s.Leads(int(t.GetPartition())); err != nil {
				return err
			}
		}
		ref, err := e.Lookup(req.Msg.GetPath())
		out.Ref = uint64(ref)
		return err
	})
	return answer(&out)
}

// Rename answers Rename.
func (s *Server) Rename(ctx context.Context, req *connect.Request[peerv1.RenameRequest]) (*connect.Response[peerv1.DoneResponse], error) {
	return answer(&peerv1.DoneResponse{Standing: s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		return e.Rename(numbered(ctx, req.Msg.GetTarget()), req.Msg.GetPath(), req.Msg.GetTo())
	})})
}

// Relabel answers Relabel.
func (s *Server) Relabel(ctx context.Context, req *connect.Request[peerv1.RelabelRequest]) (*connect.Response[peerv1.EachResponse], error) {
	var out peerv1.EachResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		ls := make([]core.PathLabels, len(req.Msg.GetPaths()))
		for i, p := range req.Msg.GetPaths() {
			ls[i] = core.PathLabels{Path: p.GetPath(), Labels: types.ReadLabels(p.GetLabels())}
		}
		errs, err := e.Relabel(numbered(ctx, req.Msg.GetTarget()), ls)
		out.Failures = failuresOf(errs)
		return err
	})
	return answer(&out)
}

// Drop answers Drop.
func (s *Server) Drop(ctx context.Context, req *connect.Request[peerv1.DropRequest]) (*connect.Response[peerv1.EachResponse], error) {
	var out peerv1.EachResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		list := make([]core.Dropping, len(req.Msg.GetList()))
		for i, x := range req.Msg.GetList() {
			list[i] = core.Dropping{Path: x.GetPath(), Ref: core.Ref(x.GetRef()), Before: rra.Time(x.GetBefore())}
		}
		errs, err := e.Drop(numbered(ctx, req.Msg.GetTarget()), list)
		out.Failures = failuresOf(errs)
		return err
	})
	return answer(&out)
}

// Info answers Info.
func (s *Server) Info(ctx context.Context, req *connect.Request[peerv1.RefRequest]) (*connect.Response[peerv1.InfoResponse], error) {
	var out peerv1.InfoResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		x, err := e.Info(core.Ref(req.Msg.GetRef()))
		if err != nil {
			return err
		}
		out.Definition = core.AppendDefinition(nil, x.Definition)
		out.Entry = &peerv1.Entry{Ref: uint64(x.Ref), Path: x.Path, Labels: types.SentLabels(x.Labels)}
		out.State, out.Texts = x.State.W, x.State.Text
		return nil
	})
	return answer(&out)
}

// SetMetadata answers SetMetadata.
func (s *Server) SetMetadata(ctx context.Context, req *connect.Request[peerv1.MetadataRequest]) (*connect.Response[peerv1.EachResponse], error) {
	var out peerv1.EachResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		all, expires := req.Msg.GetMetadata(), req.Msg.GetExpires()
		if len(all) != len(expires) {
			return malformed("%d values and %d marks", len(all), len(expires))
		}
		ms := make([]core.PathMetadata, len(all))
		for i, x := range all {
			ms[i] = types.ReadMetadata(x)
			ms[i].Expires = expires[i]
		}
		errs, err := e.SetMetadata(ctx, ms)
		out.Failures = failuresOf(errs)
		return err
	})
	return answer(&out)
}

// AddNote answers AddNote.
func (s *Server) AddNote(ctx context.Context, req *connect.Request[peerv1.NoteRequest]) (*connect.Response[peerv1.DoneResponse], error) {
	return answer(&peerv1.DoneResponse{Standing: s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) error {
		return e.AddNote(numbered(ctx, req.Msg.GetTarget()), req.Msg.GetNote().GetKey(), types.ReadNote(req.Msg.GetNote()))
	})})
}

// compared is what stores of one log are compared by.
type compared interface {
	TakeDigest(ctx context.Context, share float64) (core.Digested, error)
	AwaitDigest(ctx context.Context, at wal.Pos) (uint64, error)
}

// digestShare is the part of the time that TakeDigest works.
const digestShare = 0.5

// Digest answers AwaitDigest, at the position that the request is to have reached, or TakeDigest if
// there is none.
func (s *Server) Digest(ctx context.Context, req *connect.Request[peerv1.StateRequest]) (*connect.Response[peerv1.DigestResponse], error) {
	var out peerv1.DigestResponse
	out.Standing = s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) (err error) {
		x, ok := e.(compared)
		if !ok {
			return fmt.Errorf("digest %w", core.ErrNoFolder)
		}
		d := core.Digested{At: wal.Pos(req.Msg.GetTarget().GetAfter())}
		if d.At == 0 {
			d, err = x.TakeDigest(ctx, digestShare)
		} else {
			d.Sum, err = x.AwaitDigest(ctx, d.At)
		}
		out.Groups = map[string]uint64{digestAt: uint64(d.At), digestSum: d.Sum}
		return err
	})
	return answer(&out)
}
