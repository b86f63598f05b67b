package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Metadata returns one page of metadata: text, units, description and age of paths.
func (s *Server) Metadata(ctx context.Context, req *connect.Request[rondov1.MetadataRequest]) (*connect.Response[rondov1.MetadataResponse], error) {
	m := req.Msg
	limit := int(m.GetLimit())
	switch {
	case limit < 0:
		return nil, invalid("limit %d is negative", limit)
	case limit == 0:
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	charge := chargeFor(ctx, req)
	var page rondov1.MetadataResponse
	for x, err := range s.view(ctx).ListMetadata(ctx, m.GetPrefix(), m.GetPage()) {
		if err != nil {
			return nil, fail(err, "metadata of %.200q", m.GetPrefix())
		}
		if n := len(page.GetMetadata()); n == limit {
			page.NextPage = page.GetMetadata()[n-1].GetPath()
			break
		}
		p := metadataOf(x)
		if err := charge.texts(proto.Size(p)); err != nil {
			return nil, err
		}
		page.Metadata = append(page.Metadata, p)
	}
	return connect.NewResponse(&page), nil
}

// metadataOf returns the message of a path's metadata.
func metadataOf(x core.PathMetadata) *rondov1.Metadata {
	m := &rondov1.Metadata{Path: x.Path, TimeUs: int64(x.Time), Text: x.Text, Expire: x.Expire, Expired: x.Expired}
	for _, a := range x.Attributes {
		m.Attributes = append(m.Attributes, &rondov1.Label{Name: a.Name, Value: a.Value})
	}
	return m
}
