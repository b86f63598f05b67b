package core

import "fmt"

// A MemoryShare is memory of the store's budget that something beside the store takes, such as an
// index of its names. Its methods are for one goroutine at a time.
type MemoryShare struct {
	a *admission
	n int64
}

// shareLimit is the part of the budget that one share may take.
const shareLimit = 4

// MemoryShare returns a share of nothing yet.
func (s *Store) MemoryShare() *MemoryShare { return &MemoryShare{a: &s.admission} }

// Bytes returns how many bytes the share has.
func (m *MemoryShare) Bytes() int64 { return m.n }

// Resize makes the share n bytes. It does not wait for memory. The error wraps ErrMemory if n is
// more than a quarter of the budget, or if the budget has no room for it, as for a large series.
// The share then stays as it was.
func (m *MemoryShare) Resize(n int64) error {
	more := n - m.n
	if more > 0 {
		if n > m.a.budget/shareLimit {
			return fmt.Errorf("%w: %d bytes are needed, at most %d are for this", ErrMemory, n, m.a.budget/shareLimit)
		}
		r := reservation{a: m.a}
		if err := r.grow(more); err != nil {
			return err
		}
		defer r.end()
	}
	m.a.space.Count(more)
	m.n = n
	return nil
}
