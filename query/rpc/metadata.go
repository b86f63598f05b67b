package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
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
	charge := chargeFor(ctx)
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

// SetMetadata replaces the metadata of paths.
func (s *Server) SetMetadata(ctx context.Context, req *connect.Request[rondov1.SetMetadataRequest]) (*connect.Response[rondov1.SetMetadataResponse], error) {
	ms := req.Msg.GetMetadata()
	if len(ms) > maxPage {
		return nil, invalid("%d paths in one request, at most %d are possible", len(ms), maxPage)
	}
	answer := &rondov1.SetMetadataResponse{}
	all := make([]core.PathMetadata, 0, len(ms))
	var index []int // of all in the request
	for i, m := range ms {
		x, err := s.metadata(m)
		if err != nil {
			answer.Rejections = append(answer.Rejections, &rondov1.Rejection{Index: new(int64(i)), Error: bounded(err).Error()})
			continue
		}
		all, index = append(all, x), append(index, i)
	}
	if len(all) > 0 {
		errs, err := s.view(ctx).SetMetadata(ctx, all)
		if err != nil {
			return nil, fail(err, "set metadata")
		}
		for k, err := range errs {
			if err == nil {
				answer.Accepted++
				continue
			}
			answer.Rejections = append(answer.Rejections, &rondov1.Rejection{Index: new(int64(index[k])), Error: bounded(err).Error()})
		}
	}
	slices.SortStableFunc(answer.Rejections, func(a, b *rondov1.Rejection) int { return cmp.Compare(a.GetIndex(), b.GetIndex()) })
	return connect.NewResponse(answer), nil
}

// metadata checks the metadata of one path in a request.
func (s *Server) metadata(m *rondov1.Metadata) (core.PathMetadata, error) {
	x := core.PathMetadata{Path: m.GetPath()}
	at := rra.Time(m.GetTimeUs())
	switch {
	case m.GetPath() == "":
		return x, errors.New("no path")
	case m.GetExpired():
		return x, errors.New("expired is not for requests: a path expires by itself")
	case m.GetExpire() < 0:
		return x, fmt.Errorf("expire %d is negative", m.GetExpire())
	case m.GetText() == "" && len(m.GetAttributes()) == 0 && m.GetExpire() == 0:
		return x, nil // the zero Metadata removes
	}
	now := rra.TimeOf(s.now())
	if at == 0 {
		at = now
	}
	if err := errors.Join(checkEarly(at), s.checkAhead(m.GetPath(), at, now)); err != nil {
		return x, err
	}
	x.Metadata = core.Metadata{Time: at, Text: m.GetText(), Attributes: labelsOf(m.GetAttributes()), Expire: m.GetExpire()}
	slices.SortFunc(x.Attributes, func(a, b core.Label) int { return cmp.Compare(a.Name, b.Name) })
	return x, nil
}
