package engine

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The plain types of the store.
type (
	// A Ref addresses a series. It stays valid until the series is dropped; the zero Ref addresses none.
	Ref = core.Ref
	// A Label is one name and value of a series' labels.
	Label = core.Label
	// A Series is a series without its rows: reference, path, labels, definition.
	Series = core.Series
	// A Problem is one thing that Check found.
	Problem = core.Problem
	// Stats is a snapshot of the store's counters.
	Stats = core.Stats
	// A Matcher selects series by one label. NewMatcher makes it.
	Matcher = core.Matcher
	// A MatchOp is how a Matcher compares.
	MatchOp = core.MatchOp
	// A RejectedError says which samples of a batch were not stored. The others were.
	RejectedError = core.RejectedError
)

// How a Matcher compares.
const (
	MatchEqual     = core.MatchEqual
	MatchNotEqual  = core.MatchNotEqual
	MatchRegexp    = core.MatchRegexp
	MatchNotRegexp = core.MatchNotRegexp
)

// NewMatcher returns a Matcher. With MatchRegexp and MatchNotRegexp value is a regular expression (RE2) for the whole of
// the label's value. A label that a series lacks is the empty string.
func NewMatcher(op MatchOp, name, value string) (Matcher, error) {
	return core.NewMatcher(op, name, value)
}

// What errors wrap.
var (
	ErrLocked      = core.ErrLocked      // another process has the folder open
	ErrVersion     = core.ErrVersion     // a newer rondo wrote the store
	ErrClosed      = core.ErrClosed      // the store is closed
	ErrReadOnly    = core.ErrReadOnly    // the store was opened for reading
	ErrNotFound    = core.ErrNotFound    // no such series
	ErrExists      = core.ErrExists      // a series of that path exists
	ErrSeriesLimit = core.ErrSeriesLimit // as many series as Options.MaxSeries allows
	ErrShape       = core.ErrShape       // a wrong number of values
	ErrInvalid     = core.ErrInvalid     // an argument that cannot be
	ErrDamaged     = core.ErrDamaged     // stored bytes are not those that were written
	ErrNoArchive   = rra.ErrNoArchive    // no archive has the consolidation function
)
