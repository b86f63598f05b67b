package peer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
)

// Update is core.Engine's.
func (c *Client) Update(ctx context.Context, ref core.Ref, b *core.Batch) (int, error) {
	m, err := ask(ctx, c, c.node.rpc.Update, &peerv1.UpdateRequest{Target: c.target(ctx), Ref: uint64(ref), Batch: appendBatch(nil, b, core.Number{})})
	return int(m.GetApplied()), err
}

// Flush is core.Engine's.
func (c *Client) Flush(ctx context.Context, refs []core.Ref) error {
	_, err := ask(ctx, c, c.node.rpc.Flush, &peerv1.RefsRequest{Target: c.target(ctx), Refs: sentRefs(refs)})
	return err
}

// CreateBatch is core.Engine's.
func (c *Client) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	if n := len(specs); n > core.MaxBatch {
		return nil, &farError{text: fmt.Sprintf("%d series at once, at most %d are possible", n, core.MaxBatch), is: []error{core.ErrInvalid}}
	}
	var defs dictionary
	req := &peerv1.CreateRequest{Target: c.target(ctx)}
	for i := range specs {
		x := &specs[i]
		if x.Copy != nil {
			req.Specs = append(req.Specs, &peerv1.Spec{Copied: true, Overwrite: x.Overwrite})
			continue
		}
		req.Specs = append(req.Specs, &peerv1.Spec{
			Path: x.Path, Labels: types.SentLabels(x.Labels), Definition: defs.number(x.Definition), Start: int64(x.Start),
			Overwrite: x.Overwrite, SmoothHash: x.SmoothHash,
		})
	}
	req.Definitions = defs.take()
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.node.rpc.Create(own)
	err := stream.Send(req)
	out := pieces(func(p []byte) error { return stream.Send(&peerv1.CreateRequest{Piece: p}) })
	for i := 0; i < len(specs) && err == nil; i++ {
		if specs[i].Copy == nil {
			continue
		}
		packed, _ := specs[i].Copy.AppendBinary(nil) // it does not fail
		if _, err = out.Write(packed); err == nil {
			err = stream.Send(&peerv1.CreateRequest{End: true})
		}
	}
	if err != nil && !errors.Is(err, io.EOF) { // for EOF the answer has the reason
		return nil, c.unanswered(ctx, err)
	}
	res, err := stream.CloseAndReceive()
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	failed := c.took(res.Msg.GetStanding())
	if failed != nil && len(res.Msg.GetCreated()) == 0 {
		return nil, failed
	}
	made, err := readCreated(res.Msg.GetCreated(), len(specs))
	return made, errors.Join(failed, err)
}

// Alter is core.Engine's. change runs here, while the series waits on the other node: it has to
// return in time (Server.AlterTime).
func (c *Client) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.node.rpc.Alter(own)
	defer func() { _ = stream.CloseResponse() }() // an error of it would say nothing new
	err := stream.Send(&peerv1.AlterRequest{Target: c.target(ctx), Path: path})
	out := pieces(func(p []byte) error { return stream.Send(&peerv1.AlterRequest{Piece: p}) })
	var refused error
	r := copyReader{left: DefaultMaxCopy}
	for {
		if err != nil && !errors.Is(err, io.EOF) { // for EOF Receive returns the reason
			return 0, c.unanswered(ctx, err)
		}
		m, failed := stream.Receive()
		if failed != nil {
			return 0, c.unanswered(ctx, failed)
		}
		if m.GetStanding() != nil {
			failed := c.took(m.GetStanding())
			if refused != nil && failed != nil {
				return 0, refused
			}
			return core.Ref(m.GetRef()), failed
		}
		x, bad := r.add(m.GetPiece(), m.GetEnd())
		if bad != nil {
			return 0, bad
		}
		if x == nil {
			continue
		}
		r.left = DefaultMaxCopy
		became, why := change(*x)
		if refused = why; why != nil {
			err = stream.Send(&peerv1.AlterRequest{Refused: true})
			continue
		}
		packed, _ := became.AppendBinary(nil) // it does not fail
		if _, err = out.Write(packed); err == nil {
			err = stream.Send(&peerv1.AlterRequest{End: true})
		}
	}
}

// Rename is core.Engine's.
func (c *Client) Rename(ctx context.Context, path, to string) error {
	_, err := ask(ctx, c, c.node.rpc.Rename, &peerv1.RenameRequest{Target: c.target(ctx), Path: path, To: to})
	return err
}

// Relabel is core.Engine's.
func (c *Client) Relabel(ctx context.Context, ls []core.PathLabels) ([]error, error) {
	req := &peerv1.RelabelRequest{Target: c.target(ctx)}
	for i := range ls {
		req.Paths = append(req.Paths, &peerv1.PathLabels{Path: ls[i].Path, Labels: types.SentLabels(ls[i].Labels)})
	}
	m, err := ask(ctx, c, c.node.rpc.Relabel, req)
	return each(m.GetFailures(), len(ls), err)
}

// each returns the outcomes of n parts of a call.
func each(fs []*peerv1.Failure, n int, failed error) ([]error, error) {
	if failed != nil && len(fs) == 0 {
		return nil, failed
	}
	out, err := errorsOf(fs, n)
	if failed == nil {
		failed = err
	}
	return out, failed
}

// Drop is core.Engine's.
func (c *Client) Drop(ctx context.Context, list []core.Dropping) ([]error, error) {
	req := &peerv1.DropRequest{Target: c.target(ctx)}
	for _, x := range list {
		req.List = append(req.List, &peerv1.Dropping{Path: x.Path, Ref: uint64(x.Ref), Before: int64(x.Before)})
	}
	m, err := ask(ctx, c, c.node.rpc.Drop, req)
	return each(m.GetFailures(), len(list), err)
}

// SetMetadata is core.Engine's.
func (c *Client) SetMetadata(ctx context.Context, ms []core.PathMetadata) ([]error, error) {
	req := &peerv1.MetadataRequest{Target: c.target(ctx)}
	for _, m := range ms {
		req.Metadata, req.Expires = append(req.Metadata, types.SentMetadata(m)), append(req.Expires, m.Expires)
	}
	m, err := ask(ctx, c, c.node.rpc.SetMetadata, req)
	return each(m.GetFailures(), len(ms), err)
}

// AddNote is core.Engine's.
func (c *Client) AddNote(ctx context.Context, key string, n core.Note) error {
	_, err := ask(ctx, c, c.node.rpc.AddNote, &peerv1.NoteRequest{Target: c.target(ctx), Note: types.SentNote(key, n)})
	return err
}
