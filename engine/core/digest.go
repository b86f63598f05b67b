package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
)

// Digest returns a digest of each group of series, named "class/group". It covers states, contexts,
// held samples and every row of every archive. Stores that applied the same log have the same
// digests, whenever they wrote checkpoints. Digest reads every group, so it costs as much as
// fetching everything.
func (s *Store) Digest(ctx context.Context) (map[string]uint64, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out := make(map[string]uint64)
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			h, err := s.digest(ctx, g)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprintf("%d/%d", c.id, g.id)] = h
		}
	}
	return out, nil
}

func (s *Store) digest(ctx context.Context, g *group) (uint64, error) {
	h := fnv.New64a()
	var buf []byte
	put := func(v uint64) {
		buf = binary.LittleEndian.AppendUint64(buf[:0], v)
		_, _ = h.Write(buf) // a hash does not fail
	}
	var refs []Ref
	if err := s.loader.lockGroup(g); err != nil {
		return 0, err
	}
	for i := range g.n {
		if !g.alive(i) {
			continue
		}
		refs = append(refs, g.ref(i))
		put(uint64(g.defs[i]))
		for _, w := range g.loadWords(i, nil) {
			put(w)
		}
		for j := i * g.c.sources; j < (i+1)*g.c.sources; j++ {
			put(g.ctx[j])
			put(uint64(g.ctxTag[j]))
		}
	}
	rest := held.Append(appendTexts(nil, g.texts), g.held)
	g.mu.Unlock()
	_, _ = h.Write(rest)
	for _, ref := range refs {
		if err := s.digestRows(ctx, ref, put); err != nil {
			return 0, err
		}
	}
	return h.Sum64(), nil
}

func (s *Store) digestRows(ctx context.Context, ref Ref, put func(uint64)) error {
	info, err := s.Info(ref)
	if err != nil {
		return err
	}
	last := info.Machine.LastUpdate(info.State.W).Unix()
	for i, a := range info.Definition.Archives {
		span := a.PDPs * info.Definition.Step
		end := rowblock.FloorDiv(last, span) * span
		rows, err := s.Fetch(ctx, ref, i, end-a.Rows*span, end)
		if err != nil {
			return err
		}
		for _, v := range rows.Values {
			if math.IsNaN(v) {
				v = math.NaN()
			}
			put(math.Float64bits(v))
		}
	}
	return nil
}
