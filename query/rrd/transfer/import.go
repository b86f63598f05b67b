package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// An ImportStore is the store that series are imported into, such as a [core.Store]. CreateBatch
// must not keep the rows of copies, because they are overwritten afterwards.
type ImportStore interface {
	Lookup(path string) (core.Ref, error)
	Last(ref core.Ref) (rra.Time, error)
	core.Creator
}

// An Outcome is the outcome of importing an item.
type Outcome int

// The outcomes. An item is skipped if its series exists already and has the same time of the last
// update as the file.
const (
	Imported Outcome = iota
	Skipped
	Failed
)

// A Result is the outcome of one item. The item's Data is nil.
type Result struct {
	Item
	Outcome Outcome
	Err     error // why the outcome is Failed
}

// Options say how files are imported.
type Options struct {
	Overwrite bool         // replace existing series
	Labels    []core.Label // labels of every series
	Jobs      int          // files that are decoded while a batch is stored; less than 1 means 1

	// Inside bounds the bytes of files in memory together; 0: 256 MiB. A larger file is alone.
	Inside int64
}

// Import makes a series of each item, until items is closed. It calls done for each item once its
// series is durable, in any order, one call at a time. An error of one file is in the file's
// result. Import itself returns an error of the store, after which it imports nothing more, or
// ctx's error.
func Import(ctx context.Context, s ImportStore, o Options, items <-chan Item, done func(Result)) error {
	var told sync.Mutex
	if o.Inside == 0 {
		o.Inside = maxInside
	}
	inside := semaphore.NewWeighted(o.Inside)
	workers, working := errgroup.WithContext(ctx)
	for range max(o.Jobs, 1) + 1 { // while one waits for the store, the others decode
		workers.Go(func() error {
			w := worker{s: s, o: &o, inside: inside, done: func(r Result) {
				told.Lock()
				defer told.Unlock()
				r.Data = nil
				done(r)
			}}
			return w.run(working, items)
		})
	}
	err := workers.Wait()
	return cmp.Or(context.Cause(ctx), err)
}

// A batch is imported when it has batchSeries series or batchValues values.
const (
	batchSeries = 64
	batchValues = 2 << 20
	roomValues  = 3 << 20 // values for which a batch keeps its memory
)

// maxInside bounds the size of all files that are being imported, in bytes. A larger file is
// imported alone.
const maxInside = 256 << 20

// A worker decodes files, and imports them a batch at a time.
type worker struct {
	s      ImportStore
	o      *Options
	inside *semaphore.Weighted // bytes of files that all workers have in memory
	done   func(Result)

	reader rrdfile.Reader
	now    batch
}

// A batch is a set of series that are imported together.
type batch struct {
	items  []Item
	copies []core.Copy
	lasts  []rra.Time // times of the last updates
	values int
	inside int64     // bytes of the files, as counted by the workers' semaphore
	room   []float64 // memory for the values, reused
}

func (w *worker) run(ctx context.Context, items <-chan Item) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case item, ok := <-items:
			if !ok {
				return w.flush(ctx)
			}
			if err := w.admit(ctx, &item); err != nil {
				return err
			}
			if len(w.now.items) < batchSeries && w.now.values < batchValues {
				continue
			}
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// flush imports the batch and empties it.
func (w *worker) flush(ctx context.Context) error {
	b := &w.now
	if len(b.items) == 0 {
		return nil
	}
	made, err := core.Import(ctx, w.s, b.copies, w.o.Overwrite)
	if err != nil {
		return err
	}
	for i := range b.items {
		r := Result{b.items[i], Imported, made[i].Err}
		if errors.Is(r.Err, core.ErrExists) { // another import has made the series meanwhile
			there := false
			if there, r.Err = w.isThere(r.Path, b.lasts[i]); there {
				r.Outcome = Skipped
			}
		}
		if r.Err != nil {
			r.Outcome = Failed
		}
		w.done(r)
	}
	w.inside.Release(b.inside)
	clear(b.items)
	clear(b.copies)
	if cap(b.room) < b.values && b.values <= roomValues {
		b.room = make([]float64, b.values)
	}
	*b = batch{items: b.items[:0], copies: b.copies[:0], lasts: b.lasts[:0], room: b.room[:0:cap(b.room)]}
	return nil
}

// admit adds an item to the batch, or reports its result. It waits until the item's file may be in
// memory. An error is one of the store, or of ctx.
func (w *worker) admit(ctx context.Context, item *Item) error {
	in, size, err := item.open()
	if err != nil {
		w.done(Result{*item, Failed, err})
		return nil
	}
	defer func() { _ = in.Close() }() // nothing was written
	inside := min(size, w.o.Inside)
	if !w.inside.TryAcquire(inside) {
		// A worker that waits holds no files itself: else workers could wait for each other.
		if err := w.flush(ctx); err != nil {
			return err
		}
		if err := acquire(ctx, w.inside, inside); err != nil {
			return err
		}
	}
	added, err := w.add(item, in, size)
	switch {
	case added:
		w.now.inside += inside
		return nil
	case err != nil:
		w.done(Result{*item, Failed, err})
	default:
		w.done(Result{*item, Skipped, nil})
	}
	w.inside.Release(inside)
	return nil
}

// acquire waits for n bytes of s, behind all who wait already. Its error is the cause of ctx's end.
func acquire(ctx context.Context, s *semaphore.Weighted, n int64) error {
	if s.Acquire(ctx, n) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// add decodes an item and adds it to the batch. It returns false if the series exists already.
func (w *worker) add(item *Item, in content, size int64) (bool, error) {
	b := &w.now
	w.reader.Room = b.room[len(b.room):]
	f, err := decodeStill(in, size, &w.reader)
	if err != nil {
		return false, err
	}
	last := f.State.LastUpdate
	if !w.o.Overwrite {
		if there, err := w.isThere(item.Path, last); there || err != nil {
			return false, err
		}
	}
	c, err := CopyOf(item.Path, f)
	if err != nil {
		return false, err
	}
	c.Labels = labelsOf(item, w.o)
	item.Data = nil
	b.items, b.copies, b.lasts = append(b.items, *item), append(b.copies, c), append(b.lasts, last)
	n := 0
	for i := range f.State.Archives {
		n += len(f.State.Archives[i].Rows)
	}
	b.values += n
	if len(b.room)+n <= cap(b.room) {
		b.room = b.room[:len(b.room)+n]
	}
	return true, nil
}

// labelsOf returns the labels of an item's series.
func labelsOf(item *Item, o *Options) []core.Label {
	labels := slices.Clip(o.Labels)
	for _, l := range item.Labels {
		if !slices.ContainsFunc(o.Labels, func(other core.Label) bool { return other.Name == l.Name }) {
			labels = append(labels, l)
		}
	}
	return labels
}

// isThere reports whether a series exists with the same time of the last update as its file. If it
// exists with another time, isThere returns an error.
func (w *worker) isThere(path string, last rra.Time) (bool, error) {
	ref, err := w.s.Lookup(path)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	has, err := w.s.Last(ref)
	switch {
	case errors.Is(err, core.ErrNotFound): // dropped meanwhile
		return false, nil
	case err == nil && has != last:
		err = fmt.Errorf("%w: its last update was at %d, that of the file at %d", core.ErrExists, has.Unix(), last.Unix())
	}
	return err == nil, err
}

// An Item is a file to be imported.
type Item struct {
	Index int    // not used by Import; the result carries it back to the caller
	Path  string // path of the series
	Name  string // name of the file
	Data  []byte // content of the file; nil: Import reads the file
	// Labels are further labels of this series. Where the options have a label of the same name,
	// theirs counts.
	Labels []core.Label
	// File, if not nil, is the open file; Name is then used in messages only. Import closes File.
	File *os.File
}

// MaxFile is the size of the largest file that is imported, in bytes.
const MaxFile = 1 << 30

// A content is the content of a file that is imported.
type content interface {
	io.ReaderAt
	io.Closer
}

// memory is a content in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// open returns the content of an item's file, and its size in bytes.
func (item *Item) open() (content, int64, error) {
	if item.File != nil {
		return opened(item.File)
	}
	if item.Data == nil {
		return OpenFile(item.Name)
	}
	return memory{bytes.NewReader(item.Data)}, int64(len(item.Data)), nil
}

// opened returns an open file and its size in bytes. It closes a file that cannot be imported.
func opened(f *os.File) (*os.File, int64, error) {
	size, err := importable(f.Stat())
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, 0, err
	}
	return f, size, nil
}

// OpenFile opens a file that is to be imported and returns its size in bytes. It refuses everything
// but regular files, so it does not block on a named pipe. The error does not contain the name.
func OpenFile(name string) (f *os.File, size int64, err error) {
	if size, err = importable(os.Stat(name)); err != nil {
		return nil, 0, err
	}
	f, err = os.Open(name)
	return f, size, unnamed(err)
}

// importable returns the size in bytes of a file that can be imported, from the results of Stat.
func importable(info fs.FileInfo, err error) (size int64, _ error) {
	switch {
	case err != nil:
		return 0, unnamed(err)
	case !info.Mode().IsRegular():
		return 0, errors.New("not a regular file")
	case info.Size() > MaxFile:
		return 0, fmt.Errorf("%d bytes, more than the %d of the largest file", info.Size(), int64(MaxFile))
	}
	return info.Size(), nil
}

// unnamed returns an error of the file system without the file's name, which the caller prints
// itself.
func unnamed(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// stillTries is how often a file that changes while it is read is read again.
const stillTries = 3

var errChanging = errors.New("changes while it is read")

// decodeStill is decodeFrom for a file that must not change while it is read. It compares the
// file's size and time of modification before and after.
func decodeStill(in content, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
	file, ok := in.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return decodeFrom(in, size, r)
	}
	before, err := file.Stat()
	for range stillTries {
		if err != nil {
			return nil, unnamed(err)
		}
		f, decodeErr := decodeFrom(in, min(before.Size(), size), r)
		var after fs.FileInfo
		after, err = file.Stat()
		if err == nil && after.ModTime().Equal(before.ModTime()) && after.Size() == before.Size() {
			return f, decodeErr
		}
		before = after
	}
	return nil, errChanging
}

func decodeFrom(in content, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
	head := make([]byte, min(size, rrdfile.ForeignBytes))
	if _, err := in.ReadAt(head, 0); err != nil && len(head) > 0 {
		return nil, unnamed(err)
	}
	if IsNative(head) {
		f, err := r.Read(in, size)
		return f, unnamed(err)
	}
	if rrdfile.IsWhisper(head) {
		f, err := readWhisper(in, size, r.Room)
		return f, unnamed(err)
	}
	if what := rrdfile.Foreign(head); what != "" {
		return nil, fmt.Errorf("not a file of rrdtool; it is %s", what)
	}
	return decodeXML(io.NewSectionReader(in, 0, size))
}
