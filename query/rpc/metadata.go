package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

// Metadata returns one page of metadata: text, units, description and age of paths.
func (s *Server) Metadata(ctx context.Context, m *rondov1.MetadataRequest) (*rondov1.MetadataResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultPage, maxPage)
	if err != nil {
		return nil, err
	}
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
		p := types.SentMetadata(x)
		if err := charge.texts(proto.Size(p)); err != nil {
			return nil, err
		}
		page.Metadata = append(page.Metadata, p)
	}
	return &page, nil
}

// SetMetadata replaces the metadata of paths.
func (s *Server) SetMetadata(ctx context.Context, req *rondov1.SetMetadataRequest) (*rondov1.SetMetadataResponse, error) {
	ms := req.GetMetadata()
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
	return answer, nil
}

// metadata checks the metadata of one path in a request.
func (s *Server) metadata(m *typesv1.Metadata) (core.PathMetadata, error) {
	x := types.ReadMetadata(m)
	switch {
	case x.Path == "":
		return x, errors.New("no path")
	case x.Expired:
		return x, errors.New("expired is not for requests: a path expires by itself")
	case x.Expire < 0:
		return x, fmt.Errorf("expire %d is negative", x.Expire)
	case x.Text == "" && len(x.Attributes) == 0 && x.Expire == 0:
		return core.PathMetadata{Path: x.Path}, nil // the zero Metadata removes
	}
	now := rra.TimeOf(s.now())
	if x.Time == 0 {
		x.Time = now
	}
	if err := errors.Join(checkEarly(x.Time), s.checkAhead(x.Path, x.Time, now)); err != nil {
		return x, err
	}
	slices.SortFunc(x.Attributes, func(a, b core.Label) int { return cmp.Compare(a.Name, b.Name) })
	return x, nil
}
