package engine

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Value is one reading of a data source: [Float], [Int], [Uint] or [Unknown].
type Value = rra.Value

// Unknown is the reading that there was none.
var Unknown = rra.Unknown

// Float is a reading of a GAUGE, ABSOLUTE, DCOUNTER or DDERIVE. NaN is unknown. COUNTER and DERIVE
// take its integer part, and cut off the fraction.
func Float(f float64) Value { return rra.Float(f) }

// Int is a reading of any data source. Use it for COUNTER and DERIVE, which are subtracted as
// integers.
func Int(i int64) Value { return rra.Int(i) }

// Uint is Int for what is above the largest int64.
func Uint(u uint64) Value { return rra.Uint(u) }

// A Batch is samples of many series, stored with one Append. It may be used again after Reset, and
// then allocates nothing. Samples of one series are applied in the order they were added.
type Batch struct{ core core.Batch }

// Add adds a sample: the time, and a reading of each data source, in the order of the definition
// (COMPUTE sources have none).
func (b *Batch) Add(ref Ref, at time.Time, values ...Value) {
	b.core.Add(ref, rra.TimeOf(at), values...)
}

// Len returns the number of samples.
func (b *Batch) Len() int { return b.core.Len() }

// Reset empties b.
func (b *Batch) Reset() { b.core.Reset() }

// Append stores b and returns once it is durable; every read after that sees it, but for samples
// that Options.Reorder holds. Samples that cannot be stored (not after the last update of their
// series, with a wrong number of values, of no series) are named by a *RejectedError, and the
// others are stored. After any other error nothing of b is stored.
//
// If ctx has ended before b is in the queue of the disk, Append returns its error and stores
// nothing. After that the context no longer matters: Append returns what the disk said.
func (s *Store) Append(ctx context.Context, b *Batch) error { return s.core.Append(ctx, &b.core) }
