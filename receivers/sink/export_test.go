package sink

import "context"

const MostKnown = mostKnown

// Known returns how many definitions are kept.
func (p *Policy) Known() int { return len(p.known.byCode) }

// Replacement is replacement.
type Replacement = replacement

// ErrChanged is errChanged.
var ErrChanged = errChanged

// Replace is replaceMany.
func (s *Sink) Replace(ctx context.Context, rs []Replacement) { s.replaceMany(ctx, rs) }

// Young returns how many series are watched.
func (s *Sink) Young() int {
	s.learn.mu.Lock()
	defer s.learn.mu.Unlock()
	return len(s.learn.young)
}
