package core

import "fmt"

// A MemoryShare is memory of the store's budget that something beside the store takes, such as an
// index of its names. Its methods are for one goroutine at a time.
type MemoryShare struct {
	a    *admission // nil: of another Engine, which has given more
	more func(n int64) error
	n    int64
}

// NewMemoryShare returns a share of nothing yet of an Engine other than a Store. Resize calls more
// with the number of bytes that the share is about to grow by, or below 0 to shrink by. If more
// returns an error, which wraps ErrMemory, the share stays as it was. Giving back must not fail.
func NewMemoryShare(more func(n int64) error) *MemoryShare { return &MemoryShare{more: more} }

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
	if m.a == nil {
		err := m.more(more)
		if err == nil {
			m.n = n
		}
		return err
	}
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
