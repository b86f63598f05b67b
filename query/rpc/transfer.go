package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// maxFileBytes bounds one imported file. The server holds the whole file in memory.
const maxFileBytes = transfer.MaxFile

// ImportMany makes a series of each file that arrives.
func (s *Server) ImportMany(ctx context.Context, stream *connect.BidiStream[rondov1.ImportRequest, rondov1.ImportResponse]) error {
	first, err := stream.Receive()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	if err := mayOverwrite(ctx, first.GetOverwrite()); err != nil {
		return err
	}
	o, most := transfer.Options{Jobs: int(first.GetJobs())}, int64(maxFileBytes)
	if account := limit.Of(ctx).Another(); account != nil {
		defer account.Close()
		o.Jobs = 1
		if most, err = importRoom(account); err != nil {
			return err
		}
		o.Inside = most
	}
	return importFiles(ctx, stream, first, s.view(ctx), o, most)
}

// mayOverwrite returns an error if series are to be overwritten and the user of ctx may not.
func mayOverwrite(ctx context.Context, overwrite bool) error {
	if !overwrite {
		return nil
	}
	if err := access.From(ctx).Need(access.Admin); err != nil {
		return fail(err, "overwrite")
	}
	return nil
}

// The most and the fewest bytes of files that one ImportMany may hold, and what a byte of them
// takes: in the message, in the file, and as rows.
const (
	mostInside  = 64 << 20
	leastInside = 1 << 20
	insideBytes = 3
)

// importRoom charges the memory of one ImportMany: as much as there is, up to a limit. It returns
// how many bytes of files the import may hold.
func importRoom(account *limit.Account) (int64, error) {
	for n := int64(mostInside); ; n /= 2 {
		err := account.Charge(n * insideBytes)
		switch {
		case err == nil:
			return n, nil
		case n <= leastInside:
			return 0, fail(err, "import")
		}
	}
}

// importFiles makes a series of each file that arrives on a stream whose first message is first. No
// file may have more than most bytes.
func importFiles(ctx context.Context, stream *connect.BidiStream[rondov1.ImportRequest, rondov1.ImportResponse], first *rondov1.ImportRequest, to transfer.ImportStore, o transfer.Options, most int64) error {
	o.Overwrite, o.Jobs, o.Labels = first.GetOverwrite(), min(o.Jobs, runtime.GOMAXPROCS(0)), types.ReadLabels(first.GetLabels())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	items := make(chan transfer.Item)
	go func() {
		defer close(items)
		if err := receiveFiles(ctx, stream, first, items, most); err != nil {
			cancel(err)
		}
	}()
	err := transfer.Import(ctx, to, o, items, func(r transfer.Result) {
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
func receiveFiles(ctx context.Context, stream *connect.BidiStream[rondov1.ImportRequest, rondov1.ImportResponse], m *rondov1.ImportRequest, items chan<- transfer.Item, most int64) error {
	var item transfer.Item
	for first := m; ; {
		if path := m.GetPath(); path != "" {
			item.Path = path
			if m != first {
				item.Labels = types.ReadLabels(m.GetLabels())
			}
		}
		if item.Data == nil {
			item.Data = m.GetData()
		} else {
			item.Data = append(item.Data, m.GetData()...)
		}
		if int64(len(item.Data)) > most {
			return fmt.Errorf("%w: that of %.200q has more than %d bytes", errFileLong, item.Path, most)
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

// ExportMany streams the files of series.
func (s *Server) ExportMany(ctx context.Context, req *rondov1.ExportRequest, stream *connect.ServerStream[rondov1.ExportResponse]) error {
	from := &chargedExport{View: s.view(ctx), account: limit.Of(ctx).Another(), xml: req.GetXml()}
	if from.account == nil {
		return exportFiles(ctx, from.View, req, stream, runtime.GOMAXPROCS(0))
	}
	defer from.account.Close()
	return exportFiles(ctx, from, req, stream, 1)
}

// A chargedExport charges each series that is exported to an account, until the next one is.
type chargedExport struct {
	access.View
	account *limit.Account
	xml     bool
}

// Export returns a whole series.
func (e *chargedExport) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	series, err := e.Series(ref)
	if err != nil {
		return core.Copy{}, err
	}
	e.account.Close()
	if err := e.account.Charge(fileBytes(series, e.xml)); err != nil {
		return core.Copy{}, err
	}
	return e.View.Export(ctx, ref)
}

// fileBytes returns how many bytes the copy and the file of a series take in memory, about.
func fileBytes(series core.Series, xml bool) int64 {
	value := int64(8 + 8)
	if xml {
		value = 8 + 80
	}
	return value * rrdtool.Values(series.Definition)
}

// exportFiles streams the files of series, jobs of them at a time.
func exportFiles(ctx context.Context, from transfer.ExportStore, req *rondov1.ExportRequest, stream *connect.ServerStream[rondov1.ExportResponse], jobs int) error {
	o := transfer.ExportOptions{XML: req.GetXml(), Jobs: jobs}
	var sending sync.Mutex
	err := transfer.Export(ctx, from, req.GetPrefix(), o, func(path string, data []byte, err error) error {
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

// Backup streams a consistent copy of the store, or what changed since another one.
func (s *Server) Backup(ctx context.Context, req *rondov1.BackupRequest, stream *connect.ServerStream[rondov1.BackupResponse]) error {
	var base *core.BackupHead
	if since := req.GetSince(); len(since) > 0 {
		base = new(core.BackupHead)
		if err := base.UnmarshalBinary(since); err != nil {
			return fail(err, "backup: field since")
		}
	}
	out := bufio.NewWriterSize(sender(func(p []byte) error { return stream.Send(&rondov1.BackupResponse{Data: p}) }), chunkBytes)
	folder, err := core.FolderOf(s.Store, "backup")
	if err != nil {
		return coded(err)
	}
	if err := folder.BackupSince(ctx, out, base); err != nil {
		return fail(err, "backup")
	}
	return out.Flush()
}

// Check streams the defects that [core.Store.Check] finds.
func (s *Server) Check(ctx context.Context, _ *rondov1.CheckRequest, stream *connect.ServerStream[rondov1.CheckResponse]) error {
	folder, err := core.FolderOf(s.Store, "check")
	if err != nil {
		return coded(err)
	}
	problems, err := folder.Check(ctx)
	if err != nil {
		return fail(err, "check")
	}
	for _, p := range problems {
		if err := stream.Send(&rondov1.CheckResponse{Where: text.Escape(p.Where), What: text.Escape(p.What)}); err != nil {
			return err
		}
	}
	return nil
}
