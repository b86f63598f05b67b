package peer

import (
	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/peer/peerv1"
)

// A manyWire is the method SubmitMany.
type manyWire struct {
	rpc *connect.BidiStreamForClient[peerv1.SubmitManyRequest, peerv1.SubmitManyResponse]
	m   peerv1.SubmitManyRequest
}

func (w *manyWire) open() error {
	_ = w.rpc.Send(nil) // Receive has the reason
	_, err := w.rpc.Receive()
	return err
}

func (w *manyWire) send(all []*frame) error {
	w.m.Batches = w.m.Batches[:0]
	for _, f := range all {
		w.m.Batches = appendPart(w.m.Batches, f)
	}
	return w.rpc.Send(&w.m)
}

func (w *manyWire) receive() ([]*peerv1.Outcome, error) {
	m, err := w.rpc.Receive()
	return m.GetOutcomes(), err
}

func (w *manyWire) closeRequest()  { _ = w.rpc.CloseRequest() }  // the other side may be gone
func (w *manyWire) closeResponse() { _ = w.rpc.CloseResponse() } // it has ended

// A plainWire is the method Submit.
type plainWire struct {
	rpc    *connect.BidiStreamForClient[peerv1.SubmitRequest, peerv1.SubmitResponse]
	m      peerv1.SubmitRequest
	target *peerv1.Target // for the first message
}

func (w *plainWire) open() error { return nil }

func (w *plainWire) send(all []*frame) error {
	for _, f := range all {
		w.m.Target, w.m.Number, w.m.Batch, w.m.Names = w.target, f.number, f.packed, f.names
		w.target = nil
		if err := w.rpc.Send(&w.m); err != nil {
			return err
		}
	}
	return nil
}

func (w *plainWire) receive() ([]*peerv1.Outcome, error) {
	m, err := w.rpc.Receive()
	if err != nil {
		return nil, err
	}
	return []*peerv1.Outcome{{Standing: m.GetStanding(), Numbers: []uint64{m.GetNumber()}}}, nil
}

func (w *plainWire) closeRequest()  { _ = w.rpc.CloseRequest() }
func (w *plainWire) closeResponse() { _ = w.rpc.CloseResponse() }
