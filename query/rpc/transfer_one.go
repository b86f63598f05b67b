package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// Import makes one series of a file.
func (s *Server) Import(ctx context.Context, m *rondov1.ImportFileRequest) (*rondov1.ImportFileResponse, error) {
	switch {
	case m.GetPath() == "":
		return nil, invalid("no path")
	case len(m.GetData()) == 0:
		return nil, invalid("data is empty: it must be a file of rrdtool")
	}
	if err := mayOverwrite(ctx, m.GetOverwrite()); err != nil {
		return nil, err
	}
	account := limit.Of(ctx).Another()
	defer account.Close()
	if err := account.Charge(insideBytes * int64(len(m.GetData()))); err != nil {
		return nil, fail(err, "import")
	}
	items := make(chan transfer.Item, 1)
	items <- transfer.Item{Path: m.GetPath(), Data: m.GetData()}
	close(items)
	var got transfer.Result
	o := transfer.Options{Overwrite: m.GetOverwrite(), Labels: types.ReadLabels(m.GetLabels())}
	err := transfer.Import(ctx, s.view(ctx), o, items, func(r transfer.Result) { got = r })
	if err != nil {
		return nil, fail(err, "import %.200q", m.GetPath())
	}
	if got.Err != nil { // which may quote the file
		return nil, failOr(connect.CodeInvalidArgument, escaped{got.Err}, "import %.200q", m.GetPath())
	}
	ref, err := s.view(ctx).Lookup(m.GetPath())
	if err != nil {
		return nil, fail(err, "import %.200q", m.GetPath())
	}
	return &rondov1.ImportFileResponse{Ref: uint64(ref), Skipped: got.Outcome == transfer.Skipped}, nil
}

// An escaped is an error whose text has no control characters.
type escaped struct{ error }

func (e escaped) Error() string { return text.EscapeLines(e.error.Error()) }
func (e escaped) Unwrap() error { return e.error }

// Export returns one series as a file.
func (s *Server) Export(ctx context.Context, m *rondov1.ExportFileRequest) (*rondov1.ExportFileResponse, error) {
	series, err := s.series(ctx, m.GetPath(), m.GetRef())
	if err != nil {
		return nil, err
	}
	sent := int64(1) // how often the answer is in memory, besides the copy
	if c := chargeFor(ctx); c.json {
		sent = 3 // base64 in a buffer that grows by doubling
	}
	if err := limit.Of(ctx).Charge(sent * fileBytes(series, m.GetXml())); err != nil {
		return nil, fail(err, "export %.200q", series.Path)
	}
	c, err := s.view(ctx).Export(ctx, series.Ref)
	if err != nil {
		return nil, fail(err, "export %.200q", series.Path)
	}
	data, err := transfer.Encode(&c, m.GetXml())
	if err != nil {
		return nil, failOr(connect.CodeFailedPrecondition, err, "export %.200q", series.Path)
	}
	return &rondov1.ExportFileResponse{Path: series.Path, Data: data}, nil
}
