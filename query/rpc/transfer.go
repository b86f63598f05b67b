package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// maxFileBytes bounds one imported file. The server holds the whole file in memory.
const maxFileBytes = transfer.MaxFile

// Import makes a series of each file that arrives.
func (l *Local) Import(ctx context.Context, stream *connect.BidiStream[rondov1.ImportRequest, rondov1.ImportResponse]) error {
	first, err := stream.Receive()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	o := transfer.Options{Overwrite: first.GetOverwrite(), Jobs: min(int(first.GetJobs()), runtime.GOMAXPROCS(0))}
	for _, label := range first.GetLabels() {
		o.Labels = append(o.Labels, core.Label{Name: label.GetName(), Value: label.GetValue()})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	items := make(chan transfer.Item)
	go func() {
		defer close(items)
		if err := receiveFiles(ctx, stream, first, items); err != nil {
			cancel(err)
		}
	}()
	err = transfer.Import(ctx, l.Store, o, items, func(r transfer.Result) {
		answer := &rondov1.ImportResponse{Path: r.Path, Index: int64(r.Index), Skipped: r.Outcome == transfer.Skipped}
		if r.Err != nil {
			answer.Error = text.EscapeLines(r.Err.Error()) // the error may quote the file
		}
		if err := stream.Send(answer); err != nil {
			cancel(err)
		}
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fail(err, "import")
	}
	return nil
}

// receiveFiles puts files together from the pieces that arrive and sends each to items.
func receiveFiles(ctx context.Context, stream *connect.BidiStream[rondov1.ImportRequest, rondov1.ImportResponse], m *rondov1.ImportRequest, items chan<- transfer.Item) error {
	var item transfer.Item
	for {
		if path := m.GetPath(); path != "" {
			item.Path = path
		}
		if item.Data == nil {
			item.Data = m.GetData()
		} else {
			item.Data = append(item.Data, m.GetData()...)
		}
		if len(item.Data) > maxFileBytes {
			return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the file of %s has more than %d bytes", item.Path, maxFileBytes))
		}
		if m.GetComplete() {
			if item.Data == nil {
				item.Data = []byte{}
			}
			select {
			case items <- item:
			case <-ctx.Done():
				return nil // Import says why
			}
			item = transfer.Item{Index: item.Index + 1}
		}
		var err error
		m, err = stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Export streams the files of series.
func (l *Local) Export(ctx context.Context, req *connect.Request[rondov1.ExportRequest], stream *connect.ServerStream[rondov1.ExportResponse]) error {
	o := transfer.ExportOptions{XML: req.Msg.GetXml(), Jobs: runtime.GOMAXPROCS(0)}
	var sending sync.Mutex
	err := transfer.Export(ctx, l.Store, req.Msg.GetPrefix(), o, func(path string, data []byte, err error) error {
		sending.Lock()
		defer sending.Unlock()
		if err != nil {
			return stream.Send(&rondov1.ExportResponse{Path: path, Complete: true, Error: text.EscapeLines(err.Error())})
		}
		for {
			n := min(len(data), chunkBytes)
			if err := stream.Send(&rondov1.ExportResponse{Path: path, Data: data[:n], Complete: n == len(data)}); err != nil {
				return err
			}
			if data, path = data[n:], ""; len(data) == 0 {
				return nil
			}
		}
	})
	if err != nil {
		return fail(err, "export")
	}
	return nil
}
