package engine

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/rondo-db/rondo/rra"
)

var errTODO = errors.New("being built")

// A Store is an open database folder. Its methods may be called concurrently.
type Store struct{ dir string }

// Open opens the database in the folder dir, which is made if it is not there.
func Open(dir string, o Options) (*Store, error) { return nil, errTODO }

// Close applies what is queued, writes a checkpoint where the log is long, and releases the folder.
func (s *Store) Close() error { return errTODO }

// Create makes one series and returns once it is durable.
func (s *Store) Create(ctx context.Context, spec Spec) (Ref, error) { return 0, errTODO }

// CreateBatch makes many series with one log record. out[i] is the outcome of specs[i].
func (s *Store) CreateBatch(ctx context.Context, specs []Spec) ([]Created, error) {
	return nil, errTODO
}

// Drop removes a series.
func (s *Store) Drop(ctx context.Context, path string) error { return errTODO }

// Rename gives a series a new path.
func (s *Store) Rename(ctx context.Context, path, to string) error { return errTODO }

// Lookup returns the series of a path (a trailing .rrd may be left out or added).
func (s *Store) Lookup(path string) (Ref, error) { return 0, errTODO }

// Series returns the catalogue entry of a reference.
func (s *Store) Series(ref Ref) (Series, error) { return Series{}, errTODO }

// Append logs and applies b, and returns once it is durable and applied. Samples that
// their series refuse (late, wrong shape) are reported as *RejectedError; the rest are stored.
func (s *Store) Append(ctx context.Context, b *Batch) error { return errTODO }

// A Ticket stands for a batch on its way.
type Ticket struct{}

// Submit starts what Append does. b must not be touched until the ticket's Wait has returned.
func (s *Store) Submit(ctx context.Context, b *Batch, t *Ticket) error { return errTODO }

// Wait returns when the batch is durable and applied, with Append's error. A ticket may be used again after it.
func (t *Ticket) Wait() error { return errTODO }

// Update applies one update command to one series, as rrdtool's update does: samples in turn,
// the first refused one stops it. It returns how many were applied and, with trace, the rows they closed.
func (s *Store) Update(ctx context.Context, ref Ref, b *Batch, name string, trace bool) (n int, rows [][]rra.Run, err error) {
	return 0, nil, errTODO
}

// Info returns a series and a copy of its state.
func (s *Store) Info(ref Ref) (Info, error) { return Info{}, errTODO }

// Last returns the time of the last update of a series.
func (s *Store) Last(ref Ref) (rra.Time, error) { return 0, errTODO }

// Fetch returns the rows of one archive that end in (start, end], seconds, widened to whole rows.
func (s *Store) Fetch(ctx context.Context, ref Ref, archive int, start, end int64) (Rows, error) {
	return Rows{}, errTODO
}

// FetchMany is Fetch for many series; blocks they share are read once. fn is called in an order of the
// store's choosing and must not keep the rows.
func (s *Store) FetchMany(ctx context.Context, refs []Ref, archive int, start, end int64, fn func(i int, r *Rows, err error)) error {
	return errTODO
}

// List yields the series whose path begins with prefix and sorts after after, in order of paths.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[Series, error] { return nil }

// Select yields the series that match all of ms, in order of their references.
func (s *Store) Select(ctx context.Context, ms []Matcher) iter.Seq2[Series, error] { return nil }

// LabelNames returns the label names in use; LabelValues the values of one.
func (s *Store) LabelNames(ctx context.Context) ([]string, error) { return nil, errTODO }

// LabelValues returns the values of the label name in use, sorted.
func (s *Store) LabelValues(ctx context.Context, name string) ([]string, error) { return nil, errTODO }

// AddNote keeps a note under key (a host, say); the newest few a key are kept, with a bound on keys.
func (s *Store) AddNote(ctx context.Context, key string, n Note) error { return errTODO }

// Notes returns the notes kept under key, oldest first; all keys if key is empty.
func (s *Store) Notes(ctx context.Context, key string) (map[string][]Note, error) {
	return nil, errTODO
}

// Checkpoint writes everything applied so far into the database and shortens the log.
func (s *Store) Checkpoint(ctx context.Context) error { return errTODO }

// A Problem is one thing Check found.
type Problem struct {
	Where string // bucket and key, series, or segment
	What  string
}

// Check walks every invariant of the store and returns what it finds broken.
func (s *Store) Check(ctx context.Context) ([]Problem, error) { return nil, errTODO }

// Backup writes a consistent copy of the store to w, as a zstd stream.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return errTODO }

// Restore makes the folder dir from what Backup wrote. dir must be empty or absent.
func Restore(r io.Reader, dir string) error { return errTODO }

// Digest returns a digest of the state and rows of one group of series, to compare replicas by.
func (s *Store) Digest(ctx context.Context) (map[string]uint64, error) { return nil, errTODO }

// Stats is a snapshot of the store's counters.
type Stats struct {
	Series                      int64
	SamplesAccepted             uint64
	SamplesLate                 uint64
	SamplesRefused              uint64
	Batches                     uint64
	Checkpoints                 uint64
	CheckpointSeconds           float64 // of the last one
	CheckpointSecondsMax        float64
	LogBytes                    int64 // length of the log
	LogWritten                  uint64
	LogFailures                 uint64
	LogTorn                     int64 // bytes cut off the end of the log at open
	DatabaseBytes               int64 // size of the database file
	DatabaseFree                int64 // free pages in it, bytes
	MemoryBytes                 int64 // states, rows not yet stored, queues
	RowsStored                  uint64
	ReplayedRecords             uint64
	RecoverySeconds             float64
	GroupsLoaded, GroupsDropped int64
	Held                        int64 // samples in the reorder window
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats { return Stats{} }
