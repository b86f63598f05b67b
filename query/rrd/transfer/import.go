package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// A Store is what series are imported into. An *core.Store is one. Import keeps nothing of copies:
// their rows are written over.
type Store interface {
	Lookup(path string) (core.Ref, error)
	Last(ref core.Ref) (rra.Time, error)
	Import(ctx context.Context, copies []core.Copy, overwrite bool) ([]core.Created, error)
}

// An Item is a file to be imported.
type Item struct {
	Index int    // for whoever asks
	Path  string // of the series
	Name  string // of the file
	Data  []byte // what the file holds; nil: it is read
	// File, if not nil, is the file, open; Name is then for messages. Import closes it.
	File *os.File
}

// An Outcome is what has become of an item.
type Outcome int

// What may become of an item. It is skipped if the series is there, and was updated last when the
// file was.
const (
	Imported Outcome = iota
	Skipped
	Failed
)

// A Result tells of one item. The item's Data is gone.
type Result struct {
	Item
	Outcome Outcome
	Err     error // of Failed
}

// Options say how files are imported.
type Options struct {
	Overwrite bool         // replace series that are there
	Labels    []core.Label // of every series
	Jobs      int          // files decoded at the same time; less than 1: 1

	hold int64 // for tests: bytes of files held together; 0: maxInside
}

// Import makes a series of each item, until items is closed. done is called for each, once its
// series is durable, one call at a time; items are done in any order. What is wrong with a file is
// in its result; an error is one of the store, after which nothing more is imported, or that of
// ctx.
func Import(ctx context.Context, s Store, o Options, items <-chan Item, done func(Result)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var told sync.Mutex
	var workers sync.WaitGroup
	if o.hold == 0 {
		o.hold = maxInside
	}
	g := newGate(o.hold)
	for range max(o.Jobs, 1) {
		workers.Go(func() {
			w := worker{s: s, o: &o, gate: g, done: func(r Result) {
				told.Lock()
				defer told.Unlock()
				r.Data = nil
				done(r)
			}}
			if err := w.run(ctx, items); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// A batch is imported when it has so many series, or values.
const (
	batchSeries = 64
	batchValues = 2 << 20
	roomValues  = 3 << 20 // most values that a batch keeps the memory of
)

// MaxFile is the size of the largest file that is imported.
const MaxFile = 1 << 30

// maxInside bounds the size of the files that are being imported. One that is larger is imported
// alone.
const maxInside = 256 << 20

// A worker decodes files, a batch at a time. While it decodes one, the store takes the one before.
type worker struct {
	s    Store
	o    *Options
	gate *gate
	done func(Result)

	reader rrdfile.Reader
	now    *batch // being decoded
	next   *batch // free, or on its way
	way    chan error
}

// A batch is series that are imported together.
type batch struct {
	items  []Item
	copies []core.Copy
	lasts  []rra.Time // last updates
	values int
	inside int64     // size of the files, as the gate counts them
	room   []float64 // for the values, used again
}

func (w *worker) run(ctx context.Context, items <-chan Item) error {
	w.now, w.next = new(batch), new(batch)
	for {
		select {
		case <-ctx.Done():
			return w.wait()
		case item, ok := <-items:
			if !ok {
				if err := w.flush(ctx); err != nil {
					return err
				}
				return w.wait()
			}
			if err := w.take(ctx, &item); err != nil {
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

// flush sends the batch on its way, once the one before has arrived.
func (w *worker) flush(ctx context.Context) error {
	if err := w.wait(); err != nil || len(w.now.items) == 0 {
		return err
	}
	w.now, w.next = w.next, w.now
	w.way = make(chan error, 1)
	go func(b *batch, way chan<- error) { way <- w.send(ctx, b) }(w.next, w.way)
	return nil
}

// wait waits for the batch that is on its way.
func (w *worker) wait() error {
	if w.way == nil {
		return nil
	}
	err := <-w.way
	w.way = nil
	return err
}

// send imports a batch, and empties it.
func (w *worker) send(ctx context.Context, b *batch) error {
	made, err := w.s.Import(ctx, b.copies, w.o.Overwrite)
	if err != nil {
		return err
	}
	for i := range b.items {
		r := Result{b.items[i], Imported, made[i].Err}
		if errors.Is(r.Err, core.ErrExists) { // another import made it meanwhile
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
	w.gate.leave(b.inside)
	clear(b.items)
	clear(b.copies)
	if cap(b.room) < b.values && b.values <= roomValues {
		b.room = make([]float64, b.values)
	}
	*b = batch{items: b.items[:0], copies: b.copies[:0], lasts: b.lasts[:0], room: b.room[:0:cap(b.room)]}
	return nil
}

// take adds an item to the batch, or tells why not. An error is one of the store, or of ctx.
func (w *worker) take(ctx context.Context, item *Item) error {
	in, size, err := item.open()
	if err != nil {
		w.done(Result{*item, Failed, err})
		return nil
	}
	defer func() { _ = in.Close() }() // it is only read
	inside := min(size, w.o.hold)
	if !w.gate.try(inside) {
		if err := w.flush(ctx); err != nil {
			return err
		}
		if err := w.wait(); err != nil {
			return err
		}
		if err := w.gate.enter(ctx, inside); err != nil {
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
	w.gate.leave(inside)
	return nil
}

// add decodes an item and adds it to the batch, unless it is there.
func (w *worker) add(item *Item, in source, size int64) (bool, error) {
	b := w.now
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
	c.Labels = w.o.Labels
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

// A source is what a file is read from.
type source interface {
	io.ReaderAt
	io.Closer
}

// memory is a source of bytes.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// open opens what the item is decoded from.
func (item *Item) open() (source, int64, error) {
	if item.File != nil {
		return opened(item.File)
	}
	if item.Data == nil {
		return OpenFile(item.Name)
	}
	return memory{bytes.NewReader(item.Data)}, int64(len(item.Data)), nil
}

// stillTries is how often a file that changes is read before it fails.
const stillTries = 3

var errChanging = errors.New("changes while it is read")

// decodeStill is decodeFrom of a file that stays as it is meanwhile, as far as the system tells.
func decodeStill(in source, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
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

// decodeFrom is Decode of what in holds.
func decodeFrom(in source, size int64, r *rrdfile.Reader) (*rrdfile.File, error) {
	head := make([]byte, min(size, int64(len(cookie))))
	if _, err := in.ReadAt(head, 0); err != nil && len(head) > 0 {
		return nil, unnamed(err)
	}
	if IsNative(head) {
		f, err := r.Read(in, size)
		return f, unnamed(err)
	}
	return decodeXML(io.NewSectionReader(in, 0, size))
}

// isThere says whether a series is there that was updated last when its file was. The error says
// that another one is there.
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

// opened returns a file that was opened, if it can be imported, and its size.
func opened(f *os.File) (*os.File, int64, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		err = unnamed(err)
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case info.Size() > MaxFile:
		err = fmt.Errorf("%d bytes, more than the %d of the largest file", info.Size(), int64(MaxFile))
	default:
		return f, info.Size(), nil
	}
	_ = f.Close() // nothing was read
	return nil, 0, err
}

// OpenFile opens a file that is to be imported. It does not wait for a pipe that has no writer. The
// error leaves out the name.
func OpenFile(name string) (f *os.File, size int64, err error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, 0, unnamed(err)
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("not a regular file")
	case info.Size() > MaxFile:
		return nil, 0, fmt.Errorf("%d bytes, more than the %d of the largest file", info.Size(), int64(MaxFile))
	}
	f, err = os.Open(name)
	return f, info.Size(), unnamed(err)
}

// unnamed takes the name out of an error of the file system: it is told beside it.
func unnamed(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
