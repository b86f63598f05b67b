package rpc

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// Write appends samples to series and makes those that do not exist, if the request says so. It
// stores every sample that can be stored; the answer counts the others and lists the first few with
// their errors.
func (s *Server) Write(ctx context.Context, req *rondov1.WriteRequest) (*rondov1.WriteResponse, error) {
	samples := req.GetSamples()
	if len(samples) > maxSamples {
		return nil, invalid("%d samples in one request, at most %d are possible", len(samples), maxSamples)
	}
	if err := s.checkCreate(req); err != nil {
		return nil, err
	}
	w := writer{
		Server: s, request: req, sender: callerOf(ctx),
		view: s.view(ctx), now: rra.TimeOf(s.now()), refs: make(map[string]core.Series),
	}
	for i, m := range samples {
		err := w.add(m)
		if err != nil {
			var waits bool
			if waits, err = w.absent(i, m, err); waits {
				continue
			}
		}
		if err := w.took(i, err); err != nil {
			return nil, fail(err, "write")
		}
	}
	if err := w.make(ctx); err != nil {
		return nil, fail(err, "write")
	}
	if err := w.append(ctx); err != nil {
		return nil, fail(err, "write")
	}
	slices.SortStableFunc(w.answer.Rejections, func(a, b *rondov1.Rejection) int { return cmp.Compare(a.GetIndex(), b.GetIndex()) })
	return &w.answer, nil
}
