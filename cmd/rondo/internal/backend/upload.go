package backend

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// Upload sends files to a server, which makes series of them. It calls done for each file,
// from one goroutine at a time.
func Upload(ctx context.Context, server *rpc.Client, o transfer.Options, items []transfer.Item, done func(transfer.Result)) error {
	ctx, cancel := context.WithCancel(ctx)
	var sender sync.WaitGroup
	defer func() {
		cancel()
		sender.Wait()
	}()
	stream, err := server.Far.ImportMany(ctx)
	if err != nil {
		return Explain(err)
	}
	s := upload{send: stream.Send}
	var told sync.Mutex
	tell := func(r transfer.Result) {
		told.Lock()
		defer told.Unlock()
		done(r)
	}
	var unsent error // why a message was not, once sender has ended
	sender.Go(func() {
		s.err = s.send(&rondov1.ImportRequest{Overwrite: o.Overwrite, Jobs: int32(o.Jobs), Labels: types.SentLabels(o.Labels)})
		for i := range items {
			if err := s.file(&items[i]); err != nil {
				tell(transfer.Result{Item: items[i], Outcome: transfer.Failed, Err: err})
			}
			// If the message cannot be sent, Receive would wait for ever.
			if s.err != nil && !errors.Is(s.err, io.EOF) {
				unsent = s.err
				cancel()
			}
			if s.err != nil {
				return // Receive says why
			}
		}
		_ = stream.CloseRequest() // likewise
	})
	for {
		m, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			cancel()
			sender.Wait()
			if unsent != nil {
				err = unsent
			}
			return Explain(err)
		}
		r := transfer.Result{Item: s.sent(int(m.GetIndex()))}
		switch {
		case m.GetError() != "":
			r.Outcome, r.Err = transfer.Failed, errors.New(m.GetError())
		case m.GetSkipped():
			r.Outcome = transfer.Skipped
		}
		tell(r)
	}
}

// pieceBytes is how many bytes of a file one message holds.
const pieceBytes = 1 << 20

// An upload sends files.
type upload struct {
	send func(*rondov1.ImportRequest) error
	err  error // of send
	buf  []byte

	mu    sync.Mutex      // guards items
	items []transfer.Item // the files that were sent, by the server's index
}

// file sends a file. The error says why the file could not be read.
func (s *upload) file(item *transfer.Item) error {
	f, size, err := transfer.OpenFile(item.Name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	if s.buf == nil {
		s.buf = make([]byte, pieceBytes)
	}
	in := io.LimitReader(f, size) // what is appended meanwhile is another's
	n, err := io.ReadFull(in, s.buf)
	m := &rondov1.ImportRequest{Path: item.Path, Labels: types.SentLabels(item.Labels)}
	s.mu.Lock()
	s.items = append(s.items, *item)
	s.mu.Unlock()
	for s.err == nil {
		m.Complete = err != nil // the server notices a file that breaks off
		m.Data = s.buf[:n]
		if s.err = s.send(m); m.Complete {
			break
		}
		m = new(rondov1.ImportRequest)
		n, err = io.ReadFull(in, s.buf)
	}
	return nil
}

// sent returns the file with the server's index i.
func (s *upload) sent(i int) transfer.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.items) {
		return transfer.Item{}
	}
	return s.items[i]
}
