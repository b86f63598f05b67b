package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/rra"
)

// A Store is what series are imported into. An *engine.Store is one.
type Store interface {
	Lookup(path string) (engine.Ref, error)
	Last(ref engine.Ref) (rra.Time, error)
	Import(ctx context.Context, copies []engine.Copy, overwrite bool) ([]engine.Created, error)
}

// An Item is a file to be imported.
type Item struct {
	Index int    // for whoever asks
	Path  string // of the series
	Name  string // of the file
	Data  []byte // what the file holds; nil: it is read
}

// An Outcome is what has become of an item.
type Outcome int

// What may become of an item. It is skipped if the series is there, and was updated last when the file was.
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
	Overwrite bool           // replace series that are there
	Labels    []engine.Label // of every series
	Jobs      int            // files decoded at the same time; less than 1: 1
}

// Import makes a series of each item, until items is closed. done is called for each, once its series is durable, one call at a
// time; items are done in any order. What is wrong with a file is in its result; an error is one of the store, after
// which nothing more is imported, or that of ctx.
func Import(ctx context.Context, s Store, o Options, items <-chan Item, done func(Result)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var told sync.Mutex
	var workers sync.WaitGroup
	for range max(o.Jobs, 1) {
		workers.Go(func() {
			w := worker{s: s, o: &o, done: func(r Result) {
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
)

// maxFile is the largest file that is read.
const maxFile = 1 << 31

// A worker decodes files, a batch at a time. While it decodes one, the store takes the one before.
type worker struct {
	s    Store
	o    *Options
	done func(Result)

	buf  []byte // a file
	now  *batch // being decoded
	next *batch // free, or on its way
	way  chan error
}

// A batch is series that are imported together.
type batch struct {
	items  []Item
	copies []engine.Copy
	values int
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
			if err := w.take(&item); err != nil {
				w.done(Result{item, Failed, err})
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
		if r.Err != nil {
			r.Outcome = Failed
		}
		w.done(r)
	}
	clear(b.items)
	clear(b.copies)
	b.items, b.copies, b.values = b.items[:0], b.copies[:0], 0
	return nil
}

// take decodes an item and adds it to the batch, or finds that it is there.
func (w *worker) take(item *Item) error {
	data := item.Data
	if data == nil {
		if err := w.read(item.Name); err != nil {
			return err
		}
		data = w.buf
	}
	f, err := Decode(data)
	if err != nil {
		return err
	}
	if !w.o.Overwrite {
		last, err := w.last(item.Path)
		switch {
		case errors.Is(err, engine.ErrNotFound):
		case err != nil:
			return err
		case last == f.State.LastUpdate:
			w.done(Result{*item, Skipped, nil})
			return nil
		default:
			return fmt.Errorf("%w: its last update was at %d, that of the file at %d", engine.ErrExists, last.Unix(), f.State.LastUpdate.Unix())
		}
	}
	c, err := CopyOf(item.Path, f)
	if err != nil {
		return err
	}
	c.Labels = w.o.Labels
	item.Data = nil
	b := w.now
	b.items, b.copies = append(b.items, *item), append(b.copies, c)
	for i := range c.Rows {
		b.values += len(c.Rows[i])
	}
	return nil
}

// last returns the last update of a series.
func (w *worker) last(path string) (rra.Time, error) {
	ref, err := w.s.Lookup(path)
	if err != nil {
		return 0, err
	}
	return w.s.Last(ref)
}

// read reads a file into buf.
func (w *worker) read(name string) error {
	f, size, err := OpenFile(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	if n := int(size); cap(w.buf) < n {
		w.buf = make([]byte, n)
	} else {
		w.buf = w.buf[:n]
	}
	_, err = io.ReadFull(f, w.buf)
	return unnamed(err)
}

// OpenFile opens a file that is to be imported. It does not wait for a pipe that has no writer. The error leaves out the name.
func OpenFile(name string) (f *os.File, size int64, err error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, 0, unnamed(err)
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("not a regular file")
	case info.Size() > maxFile:
		return nil, 0, fmt.Errorf("%d bytes, more than %d", info.Size(), int64(maxFile))
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
