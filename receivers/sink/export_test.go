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

// Renamed returns how many renames the sink knows of.
func (s *Sink) Renamed() int64 { return s.renames.Load() }

// Young returns how many series are watched, and how many replaced ones are known.
func (s *Sink) Young() (watched, replaced int) {
	s.learn.mu.Lock()
	defer s.learn.mu.Unlock()
	return len(s.learn.young), len(s.learn.moved) + len(s.learn.earlier)
}
