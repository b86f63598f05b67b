package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Open opens the log in dir after any crash, and makes one if dir holds no log. It returns a
// *CorruptError if a durable record at the end of the log cannot be read, and an error that wraps
// ErrLocked if another process has the log open for writing. Replay finds damage before the end.
// If a newer program wrote a segment, the mark or the end of the log, the error wraps ErrNewer, and
// nothing is changed.
func Open(dir string, o Options) (l *Log, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l, err = nil, fmt.Errorf("open log %s: %w", dir, err)
		}
	}()
	l = &Log{dir: dir, o: o, fs: o.FS, stopped: make(chan struct{}), ticked: make(chan struct{}), stop: make(chan struct{})}
	l.work.L, l.space.L = &l.mu, &l.mu
	l.nextID = 1
	if !o.DisablePreallocate {
		l.maxFree = int(min(max(freeBytes/o.SegmentBytes, 1), mostFree))
	}
	if err := l.acquire(); err != nil {
		return l, err
	}
	fresh, err := l.find()
	if err == nil && !o.ReadOnly {
		err = l.start(fresh)
	}
	if err != nil {
		return l, errors.Join(err, l.release())
	}
	l.acked.Store(uint64(l.written))
	l.pending = newBatch(l.written + 1)
	if o.ReadOnly {
		close(l.stopped)
		close(l.ticked)
		return l, nil
	}
	go l.commits()
	go l.syncs()
	return l, nil
}

// acquire locks the folder. It makes the folder first, unless the caller knows the id of the log:
// then the log must exist.
func (l *Log) acquire() (err error) {
	if l.o.ReadOnly {
		return nil
	}
	if l.o.Log == (ID{}) {
		if err := l.fs.MkdirAll(l.dir); err != nil {
			return err
		}
	}
	l.lock, err = l.fs.Lock(filepath.Join(l.dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: the folder is missing: %w", ErrHole, err)
	}
	return err
}

// find reads the folder and finds the end of the log. fresh says that the folder holds no log yet.
func (l *Log) find() (fresh bool, err error) {
	// While another process writes, a reader may see names vanish and the tail grow.
	for range 3 {
		l.segs, l.dead, l.tailErr = nil, nil, nil
		if fresh, err = l.list(); err == nil && !fresh {
			err = l.load()
		} else if err == nil {
			l.written, l.synced = l.o.After, l.o.After
		}
		if !l.o.ReadOnly || err == nil && l.tailErr == nil {
			break
		}
	}
	switch {
	case l.o.Log == (ID{}):
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: the folder is missing: %w", ErrHole, err)
	case err == nil && fresh: // a read-only log as well: nothing can be read
		err = fmt.Errorf("%w: the folder is empty, and the log reached position %d at least", ErrHole, l.o.After)
	}
	return fresh, err
}

// start readies a log for records, after its end was found.
func (l *Log) start(fresh bool) error {
	l.tidy()
	if fresh {
		m := Mark{Last: l.o.After}
		l.o.random(m.Log[:])
		return l.makeMark(m)
	}
	if len(l.segs) == 0 {
		return nil
	}
	if err := l.writeMark(l.markNow()); err != nil {
		return err
	}
	return l.bury()
}

// release closes the files and releases the lock.
func (l *Log) release() error {
	var errs []error
	if l.active != nil {
		errs = append(errs, l.active.file.Close())
		l.active = nil
	}
	if l.lost != nil {
		_ = l.lost.file.Close() // its content is copied or lost
		l.lost = nil
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(errs...)
}

// Close commits the enqueued records, syncs, and releases the folder. From then on Enqueue returns
// ErrClosed. Close frees space that was reserved ahead: the files of a closed log are as long as
// their content.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		<-l.stopped
		return nil
	}
	l.closing = true
	l.work.Broadcast()
	l.space.Broadcast()
	l.mu.Unlock()
	if l.o.ReadOnly {
		return nil
	}
	close(l.stop)
	<-l.stopped
	<-l.ticked
	l.io.Lock()
	defer l.io.Unlock()
	err := l.syncActive()
	if l.lost != nil {
		err = l.begin()
	}
	if s := l.active; s != nil && s.size > s.end {
		_ = s.file.Truncate(s.end) // it costs space only: Open finds the end by itself
	}
	if l.lock != nil && l.lost == nil { // from now on damage at the end is no torn tail
		err = errors.Join(err, l.writeMark(l.markNow()))
		_ = l.bury() // the next Open tries again
	}
	for _, id := range l.free {
		// After an error the next Open keeps the file.
		_ = l.fs.Remove(segmentName(l.dir, id, freeSuffix))
	}
	l.free = nil
	if err = errors.Join(err, l.release()); err != nil {
		return fmt.Errorf("close log %s: %w", l.dir, err)
	}
	return nil
}

var _ io.Closer = (*Log)(nil)
