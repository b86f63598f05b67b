package engine

import (
	"maps"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The plain types of the store.
type (
	// A Ref addresses a series. It stays valid until the series is dropped; the zero Ref addresses
	// none.
	Ref = core.Ref
	// A Label is one name and value of a series' labels: the strings Name and Value.
	Label = core.Label
	// A Series is a series without its rows: Ref, Path, Labels and Definition.
	Series = core.Series
	// A Problem is one thing that Check found: the strings Where (a place in the database or the
	// log) and What.
	Problem = core.Problem
	// Stats is a snapshot of the store's counters since it was opened: Series and SeriesLimit;
	// SamplesAccepted, SamplesLate and SamplesRefused; Held (samples that wait for
	// Options.Reorder); MemoryBytes and MemoryBudget; LogBytes and DatabaseBytes (sizes on disk);
	// Checkpoints and CheckpointFailures; Damaged (places of damage met). `go doc
	// engine/core.Stats` lists the rest.
	Stats = core.Stats
	// A Matcher selects series by one label, with the fields Name, Op and Value, or by their paths.
	// NewMatcher and Below make it.
	Matcher = core.Matcher
	// A MatchOp is how a Matcher compares.
	MatchOp = core.MatchOp
	// A RejectedError says which samples of a batch were not stored; the others were. Accepted,
	// Late and Other count the samples, First has the first few that were not stored: each with its
	// Index in the batch, from 0, and an Err that names the series and the reason.
	RejectedError = core.RejectedError
)

// Labels returns the labels of a map, in the order of their names.
func Labels(values map[string]string) []Label {
	labels := make([]Label, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		labels = append(labels, Label{Name: name, Value: values[name]})
	}
	return labels
}

// How a Matcher compares.
const (
	MatchEqual     = core.MatchEqual
	MatchNotEqual  = core.MatchNotEqual
	MatchRegexp    = core.MatchRegexp
	MatchNotRegexp = core.MatchNotRegexp
	MatchBelow     = core.MatchBelow // the path, not a label: see Below
)

// NewMatcher returns a Matcher. With MatchRegexp and MatchNotRegexp value is a regular expression
// (RE2) for the whole of the label's value. A label that a series lacks is the empty string.
func NewMatcher(op MatchOp, name, value string) (Matcher, error) {
	return core.NewMatcher(op, name, value)
}

// Below returns a Matcher of the series whose path is one of the folders, or below one.
func Below(folders ...string) Matcher { return core.Below(folders...) }

// What errors wrap.
var (
	ErrLocked      = core.ErrLocked      // another process has the folder open
	ErrVersion     = core.ErrVersion     // another version of rondo wrote the store
	ErrClosed      = core.ErrClosed      // the store is closed
	ErrReadOnly    = core.ErrReadOnly    // the store was opened for reading
	ErrNotFound    = core.ErrNotFound    // no such series
	ErrExists      = core.ErrExists      // a series of that path exists
	ErrSeriesLimit = core.ErrSeriesLimit // as many series as Options.MaxSeries allows
	ErrShape       = core.ErrShape       // a wrong number of values
	ErrInvalid     = core.ErrInvalid     // an argument that cannot be
	// stored bytes are not those that were written, or are missing
	ErrDamaged = core.ErrDamaged
	// the disk has no room: nothing was stored, and the call succeeds once there is
	ErrFull   = core.ErrFull
	ErrMemory = core.ErrMemory // Options.Memory has no room, and no checkpoint makes it
	// ErrNoArchive says that no archive has the consolidation function that was asked for. An
	// archive whose rows are one step serves every function, as in rrdtool.
	ErrNoArchive = rra.ErrNoArchive
)
