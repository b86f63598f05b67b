package peer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/rra"
)

// fetchValues is how many values of rows a message has, about.
const fetchValues = 64 << 10

// Fetch answers FetchMany.
func (s *Server) Fetch(ctx context.Context, req *connect.Request[peerv1.FetchRequest], stream *connect.ServerStream[peerv1.FetchResponse]) error {
	m := req.Msg
	w := rowWriter{stream: stream}
	var spans []core.Span
	for _, x := range m.GetSpans() {
		for _, ref := range x.GetRefs() {
			spans = append(spans, core.Span{Ref: core.Ref(ref), Archive: int(x.GetArchive()), Start: x.GetStart(), End: x.GetEnd(), Known: x.GetKnown()})
		}
	}
	st := s.do(ctx, m.GetTarget(), func(e core.Engine) error { return e.FetchMany(ctx, spans, w.add) })
	if w.failed == nil {
		w.out.Standing = st
		w.flush()
	}
	return w.failed
}

// A rowWriter sends rows, of many series in a message, or a piece of one series'.
type rowWriter struct {
	stream *connect.ServerStream[peerv1.FetchResponse]
	out    peerv1.FetchResponse
	ds     []string  // as sent last
	values []float64 // of the rows in out
	failed error     // of the stream
}

func (w *rowWriter) add(i int, r *core.Rows, err error) {
	if w.failed != nil {
		return
	}
	if err != nil {
		w.out.Rows = append(w.out.Rows, &peerv1.Rows{Index: int64(i), Failure: failureOf(err)})
		if len(w.out.Rows) >= chunkItems {
			w.flush()
		}
		return
	}
	x := &peerv1.Rows{Index: int64(i), Start: r.Start, End: r.End, Step: r.Step, First: r.First}
	if w.ds == nil || !slices.Equal(w.ds, r.DS) {
		w.ds = slices.Clone(r.DS)
		x.Ds = w.ds
	}
	if len(w.values)+len(r.Values) > fetchValues {
		w.flush()
	}
	for values := r.Values; w.failed == nil; {
		part := values[:min(len(values), fetchValues)]
		values = values[len(part):]
		from := len(w.values)
		w.values = append(w.values, part...)
		x.Values, x.More = w.values[from:len(w.values):len(w.values)], int64(len(values))
		w.out.Rows = append(w.out.Rows, x)
		if len(w.out.Rows) >= chunkItems || len(values) > 0 {
			w.flush()
		}
		if len(values) == 0 {
			return
		}
		x = &peerv1.Rows{Index: int64(i)}
	}
}

func (w *rowWriter) flush() {
	if w.failed == nil {
		w.failed = w.stream.Send(&w.out)
	}
	w.out = peerv1.FetchResponse{}
	w.values = w.values[:0]
}

// Export answers Export.
func (s *Server) Export(ctx context.Context, req *connect.Request[peerv1.RefRequest], stream *connect.ServerStream[peerv1.PieceResponse]) error {
	var c core.Copy
	st := s.do(ctx, req.Msg.GetTarget(), func(e core.Engine) (err error) {
		c, err = e.Export(ctx, core.Ref(req.Msg.GetRef()))
		return err
	})
	if st.GetFailure() == nil {
		packed, _ := c.AppendBinary(nil) // it does not fail
		out := pieces(func(p []byte) error { return stream.Send(&peerv1.PieceResponse{Piece: p}) })
		if _, err := out.Write(packed); err != nil {
			return err
		}
	}
	return stream.Send(&peerv1.PieceResponse{Standing: st})
}

// maxCopy returns how large a whole series may be.
func (s *Server) maxCopy() int64 { return cmp.Or(s.MaxCopy, DefaultMaxCopy) }

// A copyReader puts the pieces of copies together. All of them together may have left bytes.
type copyReader struct {
	packed bytes.Buffer
	left   int64
}

// add takes a piece. It returns the copy if the piece is the last one.
func (r *copyReader) add(piece []byte, end bool) (*core.Copy, error) {
	if r.left -= int64(len(piece)); r.left < 0 {
		return nil, fmt.Errorf("series are too large to be sent: %w", core.ErrTooLarge)
	}
	r.packed.Write(piece)
	if !end {
		return nil, nil
	}
	c := new(core.Copy)
	err := c.UnmarshalBinary(r.packed.Bytes())
	r.packed.Reset()
	return c, err
}

// Create answers CreateBatch.
func (s *Server) Create(ctx context.Context, stream *connect.ClientStream[peerv1.CreateRequest]) (*connect.Response[peerv1.CreatedResponse], error) {
	var target *peerv1.Target
	var specs []core.Spec
	copied := 0 // specs whose copy is there, or that have none
	r := copyReader{left: s.maxCopy()}
	for stream.Receive() {
		m := stream.Msg()
		var err error
		if target == nil {
			target = m.GetTarget()
			specs, err = readSpecs(m)
		} else {
			var c *core.Copy
			if c, err = r.add(m.GetPiece(), m.GetEnd()); c != nil {
				for copied < len(specs) && specs[copied].Copy == nil {
					copied++
				}
				if copied == len(specs) {
					err = malformed("a copy too many")
				} else {
					specs[copied] = c.Spec(specs[copied].Overwrite)
					copied++
				}
			}
		}
		if err != nil {
			return answer(&peerv1.CreatedResponse{Standing: s.standing(nil, nil, err)})
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	var out peerv1.CreatedResponse
	out.Standing = s.do(ctx, target, func(e core.Engine) error {
		created, err := e.CreateBatch(numbered(ctx, target), specs)
		out.Created = sentCreated(created)
		return err
	})
	return answer(&out)
}

// readSpecs reads the specs of a Create. Those that have a copy have an empty one.
func readSpecs(m *peerv1.CreateRequest) ([]core.Spec, error) {
	var defs reading
	if err := defs.add(m.GetDefinitions()); err != nil {
		return nil, err
	}
	specs := make([]core.Spec, len(m.GetSpecs()))
	for i, x := range m.GetSpecs() {
		d, err := defs.get(x.GetDefinition())
		if err != nil {
			return nil, err
		}
		specs[i] = core.Spec{
			Path: x.GetPath(), Labels: types.ReadLabels(x.GetLabels()), Definition: d, Start: rra.Time(x.GetStart()),
			Overwrite: x.GetOverwrite(), SmoothHash: x.GetSmoothHash(),
		}
		if x.GetCopied() {
			specs[i].Copy = new(core.Copy)
		}
	}
	return specs, nil
}

// errRefused is the error of the change of an Alter: the caller's function has failed.
var errRefused = errors.New("the change was refused")

// Alter answers Alter: the function that changes the series is the caller's.
func (s *Server) Alter(ctx context.Context, stream *connect.BidiStream[peerv1.AlterRequest, peerv1.AlterResponse]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	var ref core.Ref
	st := s.do(ctx, first.GetTarget(), func(e core.Engine) (err error) {
		ref, err = e.Alter(numbered(ctx, first.GetTarget()), first.GetPath(), func(c core.Copy) (core.Copy, error) { return s.changed(ctx, stream, &c) })
		return err
	})
	return stream.Send(&peerv1.AlterResponse{Standing: st, Ref: uint64(ref)})
}

// changed asks the caller of an Alter what c becomes. Sending and receiving take AlterTime at most.
func (s *Server) changed(ctx context.Context, stream *connect.BidiStream[peerv1.AlterRequest, peerv1.AlterResponse], c *core.Copy) (core.Copy, error) {
	control, _ := ctx.Value(controlKey{}).(*http.ResponseController)
	if control == nil {
		return core.Copy{}, errors.New("an Alter that nothing bounds")
	}
	until := func(at time.Time) error {
		return errors.Join(control.SetReadDeadline(at), control.SetWriteDeadline(at))
	}
	if err := until(time.Now().Add(cmp.Or(s.AlterTime, DefaultAlterTime))); err != nil {
		return core.Copy{}, fmt.Errorf("bound the time of an Alter: %w", err)
	}
	became, err := s.askChange(stream, c)
	if err != nil {
		return core.Copy{}, err
	}
	return became, until(time.Time{})
}

func (s *Server) askChange(stream *connect.BidiStream[peerv1.AlterRequest, peerv1.AlterResponse], c *core.Copy) (core.Copy, error) {
	packed, _ := c.AppendBinary(nil) // it does not fail
	out := pieces(func(p []byte) error { return stream.Send(&peerv1.AlterResponse{Piece: p}) })
	_, err := out.Write(packed)
	if err == nil {
		err = stream.Send(&peerv1.AlterResponse{End: true})
	}
	r := copyReader{left: s.maxCopy()}
	for err == nil {
		var m *peerv1.AlterRequest
		if m, err = stream.Receive(); err != nil {
			break
		}
		if m.GetRefused() {
			return core.Copy{}, errRefused
		}
		became, err := r.add(m.GetPiece(), m.GetEnd())
		if err != nil {
			return core.Copy{}, err
		}
		if became != nil {
			return *became, nil
		}
	}
	return core.Copy{}, fmt.Errorf("the caller has not said in time what the series becomes: %w: %w", err, core.ErrUnavailable)
}
