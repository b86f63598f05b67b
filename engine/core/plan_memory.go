package core

import (
	"context"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/rra"
)

// seriesBytes is what one series of c takes of the memory while it is loaded.
func (c *class) seriesBytes() int64 {
	return int64(memory.Size(c.groupBytes(1)) + memory.Size(9*c.sources))
}

// definitionBytes is about what a definition with its class takes of the memory. code is the size
// of its code in bytes.
func definitionBytes(m *rra.Machine, code int) int64 {
	d := m.Definition()
	return 2048 + int64(code) + 200*int64(len(d.Sources)) + 400*int64(len(d.Archives)) + 16*int64(len(d.Sources)*len(m.Streams()))
}

// reserveSeries sets the memory of planned series aside.
func (s *Store) reserveSeries(ctx context.Context, plan []planned) (*reservation, error) {
	var total, largest, each int64
	var last *rra.Machine
	known := make(map[string]bool)
	for i := range plan {
		p := &plan[i]
		if p.m != last {
			last, each = p.m, s.catalogue.classOf(p.m).seriesBytes()
			if !known[p.def] {
				known[p.def] = true
				n, err := s.catalogue.newDefinitionBytes(p)
				if err != nil {
					return nil, err
				}
				total += n
			}
		}
		total += each
		largest = max(largest, each)
	}
	return s.admission.reserve(ctx, total, largest)
}

// reserveImport sets the memory of a copy and of its record aside.
func (s *Store) reserveImport(ctx context.Context, x *importing, rec []byte) (*reservation, error) {
	n := s.catalogue.classOf(x.m).seriesBytes() + int64(len(rec)) + pending.ChunkSize
	for i := range x.strips {
		n += int64(len(x.strips[i].data)) + pending.MaxHeader
	}
	def, err := s.catalogue.newDefinitionBytes(&x.planned)
	if err != nil {
		return nil, err
	}
	n += def
	return s.admission.reserve(ctx, n, n)
}
