package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// Describe is receivers.Sink's.
func (s *Sink) Describe(ctx context.Context, ds []receivers.Description) ([]error, error) {
	out := make([]error, len(ds))
	ms := make([]core.PathMetadata, 0, len(ds))
	at := make([]int, 0, len(ds))     // at[i] is the index of the description of ms[i]
	paid := make([]bool, 0, len(ds))  // paid[i]: ms[i] was taken from its sender's allowance
	unused := make(map[string]int, 1) // sender → paths taken from its allowance and not made
	defer func() { s.allowed.GiveBack(unused, s.o.Now()) }()
	for i := range ds {
		d := &ds[i]
		known, err := d.Known, error(nil)
		if !known {
			known, err = s.known(ctx, d.Path)
		}
		switch {
		case err != nil:
			out[i] = err
			continue
		case !known && !s.allowed.Spend(d.Sender, 1, s.o.Now()):
			out[i] = receivers.ErrSenderLimit
			s.refused.count(out[i])
			continue
		case !known:
			unused[d.Sender]++
		}
		m := d.PathMetadata
		m.Text = cutText(strings.ToValidUTF8(m.Text, "\uFFFD"))
		m.Attributes = attributes(m.Attributes)
		ms, at, paid = append(ms, m), append(at, i), append(paid, !known)
	}
	if len(ms) == 0 {
		return out, nil
	}
	errs, err := s.store.SetMetadata(ctx, ms)
	if err != nil {
		return nil, fmt.Errorf("metadata of %d paths: %w", len(ms), err)
	}
	for i, err := range errs {
		if out[at[i]] = err; err != nil {
			s.refused.count(err)
		} else if paid[i] {
			unused[ds[at[i]].Sender]--
		}
	}
	return out, nil
}

// known reports whether a path has metadata or is the path of a series.
func (s *Sink) known(ctx context.Context, path string) (bool, error) {
	m, err := core.MetadataOf(ctx, s.store, path)
	if err != nil || m.Time != 0 {
		return err == nil, err
	}
	_, err = s.store.Lookup(path)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Metadata is receivers.Sink's.
func (s *Sink) Metadata(ctx context.Context, path string) (core.Metadata, error) {
	return core.MetadataOf(ctx, s.store, path)
}
