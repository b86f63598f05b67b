package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rondo-db/rondo/rra"
)

// An Engine is what the rooms above this package need of a store. A *Store is one, over a folder of
// this machine. Others are a partition on another machine, and many partitions as one.
//
// The methods do what Store's do, where their comments are. They may be called concurrently. What
// differs where a store is not on this machine:
//   - Every method that returns an error may return one that wraps [ErrUnavailable].
//   - A method without a context takes a bounded time.
//   - Stats and Renames may be some seconds old.
type Engine interface {
	// Submit begins an [Append]: see Store.Submit.
	Submit(ctx context.Context, b *Batch, t *Ticket) error
	// Update applies one update command: see Store.Update.
	Update(ctx context.Context, ref Ref, b *Batch) (n int, err error)
	// Flush applies held samples: see Store.Flush.
	Flush(ctx context.Context, refs []Ref) error

	// Lookup returns the series of a path: see Store.Lookup.
	Lookup(path string) (Ref, error)
	Resolver
	// Select yields the series of a query: see Store.Select.
	Select(ctx context.Context, q Query) iter.Seq2[Series, error]
	// Labels returns names, values or combinations of labels: see Store.Labels.
	Labels(ctx context.Context, q LabelQuery) (Labels, error)

	Creator
	// Alter replaces a series by a copy: see Store.Alter.
	Alter(ctx context.Context, path string, change func(Copy) (Copy, error)) (Ref, error)
	// Rename gives a series another path: see Store.Rename.
	Rename(ctx context.Context, path, to string) error
	// Relabel replaces labels: see Store.Relabel.
	Relabel(ctx context.Context, ls []PathLabels) ([]error, error)
	// Drop removes series: see Store.Drop.
	Drop(ctx context.Context, list []Dropping) ([]error, error)

	Fetcher
	// Lasts returns the times of the last updates: see Store.Lasts.
	Lasts(ctx context.Context, refs []Ref) ([]LastTime, error)
	// Info returns a series with its state: see Store.Info.
	Info(ref Ref) (Info, error)
	// Export returns a whole series: see Store.Export.
	Export(ctx context.Context, ref Ref) (Copy, error)

	MetadataLister
	// SetMetadata replaces or expires metadata: see Store.SetMetadata.
	SetMetadata(ctx context.Context, ms []PathMetadata) ([]error, error)
	// AddNote stores a note: see Store.AddNote.
	AddNote(ctx context.Context, key string, n Note) error
	// Notes returns notes: see Store.Notes.
	Notes(ctx context.Context, key string) (map[string][]Note, error)

	// Watch collects the changes of the catalogue from now on; see Store.Watch. Take is not
	// complete either when changes may have been missed because the store was out of reach.
	Watch(most int) *Watch
	// Stats returns counters: see Store.Stats.
	Stats() Stats
	// Renames counts renamed series: see Store.Renames. It also grows when references that a
	// caller remembers may be of other paths for another reason.
	Renames() uint64
}

// A Folder is an engine over a folder of this machine. It has what is of one machine's database
// only. [FolderOf] returns the Folder of an engine.
type Folder interface {
	Engine

	// BackupSince writes what has changed, or everything: see Store.BackupSince.
	BackupSince(ctx context.Context, w io.Writer, base *BackupHead) error
	// Check looks for damage: see Store.Check.
	Check(ctx context.Context) ([]Problem, error)
	// Checkpoint writes the database: see Store.Checkpoint.
	Checkpoint(ctx context.Context) error
}

var (
	_ Engine = (*Store)(nil)
	_ Folder = (*Store)(nil)
)

// ErrNoFolder says that a call is for the database of one machine, and the engine is not one.
var ErrNoFolder = errors.New("is of one machine's database")

// FolderOf returns the folder of an engine. Its error names the call that needs one, such as
// "backup", and wraps [ErrNoFolder].
func FolderOf(e Engine, call string) (Folder, error) {
	if f, ok := e.(Folder); ok {
		return f, nil
	}
	return nil, fmt.Errorf("%s %w, and these series are on several machines", call, ErrNoFolder)
}

// An Engine has the forms for many only. The functions here ask it for one series. A Store that is
// asked directly has shorter ways.

// A Creator makes series.
type Creator interface {
	// CreateBatch makes many series: see Store.CreateBatch.
	CreateBatch(ctx context.Context, specs []Spec) ([]Created, error)
}

// A Resolver reads the catalogue.
type Resolver interface {
	// Resolve returns entries of the catalogue: see Store.Resolve.
	Resolve(ctx context.Context, refs []Ref, fn func(i int, x Series) bool) error
}

// A Fetcher reads rows.
type Fetcher interface {
	// FetchMany returns rows of series: see Store.FetchMany.
	FetchMany(ctx context.Context, spans []Span, fn func(i int, r *Rows, err error)) error
}

// A MetadataLister reads metadata.
type MetadataLister interface {
	// ListMetadata yields metadata in order of paths: see Store.ListMetadata.
	ListMetadata(ctx context.Context, q MetadataQuery) iter.Seq2[PathMetadata, error]
}

// Create makes one series in e and returns once it is durable. If the path is taken, it returns the
// reference of the existing series and an error that wraps ErrExists.
func Create(ctx context.Context, e Creator, spec Spec) (Ref, error) {
	out, err := e.CreateBatch(ctx, []Spec{spec})
	if err != nil {
		return 0, err
	}
	return out[0].Ref, out[0].Err
}

// Import makes a series of every copy in e, with its state and all its rows. With overwrite a copy
// replaces the series of the same path. out[i] is the outcome of copies[i]. Import keeps no
// reference to copies.
func Import(ctx context.Context, e Creator, copies []Copy, overwrite bool) ([]Created, error) {
	specs := make([]Spec, len(copies))
	for i := range copies {
		specs[i] = copies[i].Spec(overwrite)
	}
	return e.CreateBatch(ctx, specs)
}

// Drop removes the series of a path with its metadata, or the metadata of a path that is no series.
// The error wraps ErrNotFound if the path has neither.
func Drop(ctx context.Context, e Engine, path string) error {
	out, err := e.Drop(ctx, []Dropping{{Path: path}})
	if err != nil {
		return err
	}
	return out[0]
}

// ShareOf returns a share of nothing yet of the memory budget of e. If e has none, the share is of
// 64 MiB at most.
func ShareOf(e Engine) *MemoryShare {
	if b, ok := e.(interface{ MemoryShare() *MemoryShare }); ok {
		return b.MemoryShare()
	}
	return &MemoryShare{most: 64 << 20, resize: func(int64, int64) error { return nil }}
}

// SeriesOf returns the catalogue entry of one series of e. The error wraps ErrNotFound if ref is no
// series.
func SeriesOf(ctx context.Context, e Resolver, ref Ref) (x Series, err error) {
	if s, ok := e.(*Store); ok {
		return s.Series(ref)
	}
	err = e.Resolve(ctx, []Ref{ref}, func(_ int, found Series) bool {
		x = found
		return true
	})
	if err == nil && x.Ref == 0 {
		err = notFound(ref)
	}
	return x, err
}

// Last returns the time of the last update of one series of e. The error wraps ErrNotFound if ref
// is no series.
func Last(ctx context.Context, e Engine, ref Ref) (rra.Time, error) {
	if s, ok := e.(*Store); ok {
		return s.Last(ref)
	}
	times, err := e.Lasts(ctx, []Ref{ref})
	if err != nil {
		return 0, err
	}
	if !times[0].There {
		return 0, notFound(ref)
	}
	return times[0].Time, nil
}

// Fetch returns rows of one archive of one series of e: see Store.Fetch.
func Fetch(ctx context.Context, e Fetcher, ref Ref, archive int, start, end int64) (rows Rows, err error) {
	if s, ok := e.(*Store); ok {
		return s.Fetch(ctx, ref, archive, start, end)
	}
	err = e.FetchMany(ctx, []Span{{Ref: ref, Archive: archive, Start: start, End: end}}, func(_ int, r *Rows, err error) {
		if err == nil {
			rows = *r
		}
	})
	return rows, err
}

// MetadataOf returns the metadata of one path of e, or the zero Metadata if the path has none.
func MetadataOf(ctx context.Context, e MetadataLister, path string) (m Metadata, err error) {
	if path == "" {
		return m, nil
	}
	for x, failed := range e.ListMetadata(ctx, MetadataQuery{Path: path}) {
		m, err = x.Metadata, failed
	}
	return m, err
}

// A Simple is an engine with the methods of a Store for one series. It is for callers that also
// take stores of another kind, which have one series at a time.
type Simple struct{ Engine }

// Create is the function [Create].
func (s Simple) Create(ctx context.Context, spec Spec) (Ref, error) {
	return Create(ctx, s.Engine, spec)
}

// Series is [SeriesOf].
func (s Simple) Series(ref Ref) (Series, error) { return SeriesOf(context.Background(), s.Engine, ref) }

// Last is the function [Last].
func (s Simple) Last(ref Ref) (rra.Time, error) { return Last(context.Background(), s.Engine, ref) }

// Fetch is the function [Fetch].
func (s Simple) Fetch(ctx context.Context, ref Ref, archive int, start, end int64) (Rows, error) {
	return Fetch(ctx, s.Engine, ref, archive, start, end)
}
