package router

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
)

// How many entries of a partition are read ahead. A stream begins with few, because most lists are
// read for their first page, and a stream's largest piece is smaller where there are many of them.
const (
	firstPiece = 16
	lastPiece  = 512
	allPieces  = 64 << 10 // entries of the largest pieces of all streams together
)

// A stream is what one partition yields, in pieces that are read ahead.
type stream[T any] struct {
	full  chan []T      // pieces that were read; closed at the end. Holds one: then the reader waits
	empty chan []T      // pieces to be filled again; holds all there are
	err   error         // why the partition has ended; set before full is closed
	more  chan struct{} // closed when the first piece is used up; then nil

	piece []T // at hand
	at    int // of the next entry in piece
	ended bool
}

// A source opens what a partition yields.
type source[T any] func(ctx context.Context, p int) iter.Seq2[T, error]

// read fills pieces until the partition ends or ctx does. If expected is not 0, the first piece has
// that size, and others are read when it is used up.
func (s *stream[T]) read(ctx context.Context, p, expected, largest int, more <-chan struct{}, open source[T]) {
	defer close(s.full)
	size := min(firstPiece, largest)
	if expected > 0 {
		size = expected
	}
	piece := make([]T, 0, size)
	send := func() bool {
		select {
		case s.full <- piece:
		case <-ctx.Done():
			s.err = ctx.Err()
			return false
		}
		size = min(2*size, largest)
		if expected > 0 {
			select {
			case <-more:
			case <-ctx.Done():
				s.err = ctx.Err()
				return false
			}
			size, expected = min(firstPiece, largest), 0
		}
		select {
		case piece = <-s.empty:
			piece = piece[:0]
		default:
			piece = make([]T, 0, size)
		}
		return true
	}
	for x, err := range open(ctx, p) {
		if err != nil {
			s.err = err
			break
		}
		if piece = append(piece, x); len(piece) >= size && !send() {
			return
		}
	}
	if len(piece) > 0 {
		send()
	}
}

// next moves to the next entry and reports whether there is one. It waits for the partition.
func (s *stream[T]) next() bool {
	if s.at++; s.at < len(s.piece) {
		return true
	}
	if s.ended {
		return false
	}
	if s.piece != nil {
		if s.more != nil { // read goes on behind the first piece
			close(s.more)
			s.more = nil
		}
		select {
		case s.empty <- s.piece:
		default:
		}
	}
	s.piece, s.at = <-s.full, 0
	s.ended = s.piece == nil
	return !s.ended
}

func (s *stream[T]) head() *T { return &s.piece[s.at] }

// streams are the streams of all partitions of one list.
type streams[T any] struct {
	all     []stream[T]
	ctx     context.Context
	cancel  context.CancelFunc
	open    source[T]
	largest int // piece
	first   int // piece, if it is known how many entries are wanted; else 0
	running sync.WaitGroup
	started int
	damage  skipped
}

func newStreams[T any](ctx context.Context, n int, open source[T]) *streams[T] {
	ss := &streams[T]{all: make([]stream[T], n), open: open, largest: min(max(allPieces/n, firstPiece), lastPiece)}
	ss.ctx, ss.cancel = context.WithCancel(ctx)
	return ss
}

// pageOf returns how many entries of each of n partitions a caller takes who takes page of all, or
// 0. Most lists are spread evenly over the partitions, so that few streams need a second piece.
func pageOf(page, n int) int {
	if page <= 0 || n == 1 {
		return max(page, 0)
	}
	mean := float64(page) / float64(n)
	return int(min(mean+2*math.Sqrt(mean)+2, max(allPieces/float64(n), firstPiece)))
}

// start begins to read the partitions before n.
func (ss *streams[T]) start(n int) {
	for ; ss.started < min(n, len(ss.all)); ss.started++ {
		p, s := ss.started, &ss.all[ss.started]
		s.full, s.empty, s.at = make(chan []T, 1), make(chan []T, 3), -1
		more := make(chan struct{})
		s.more = more
		ss.running.Go(func() { s.read(ss.ctx, p, ss.first, ss.largest, more, ss.open) })
	}
}

// end stops all reading and waits until it has stopped.
func (ss *streams[T]) end() {
	ss.cancel()
	ss.running.Wait()
}

// failed returns the error with which a stream has ended. It keeps damage for the end of the list.
func (ss *streams[T]) failed(s *stream[T]) error {
	if s.err == nil || ss.damage.over(s.err) {
		return nil
	}
	return s.err
}

// skipped collects what partitions report of damaged entries that they have left out.
type skipped struct{ errs []error }

// over keeps err if it is damage.
func (k *skipped) over(err error) bool {
	if !errors.Is(err, core.ErrDamaged) {
		return false
	}
	k.errs = append(k.errs, err)
	return true
}

// err returns what was left out, or nil.
func (k *skipped) err() error {
	if len(k.errs) < 2 {
		return join(k.errs)
	}
	return fmt.Errorf("%d partitions have damaged entries, the first: %w", len(k.errs), k.errs[0])
}

// A watching is a watch of every partition.
type watching struct {
	r    *Store
	most int

	mu   sync.Mutex // guards what follows
	all  []watched
	lost bool // changes may have been missed
}

// A watched is the watch of one partition at one engine.
type watched struct {
	e core.Engine
	w *core.Watch
}

// Watch is core.Store's. The changes of one partition are in their order; changes of two partitions
// are not. A series that is renamed to a path of another partition is reported as a series that
// comes and one that goes. The watch is not complete any more when another engine answers for a
// partition.
func (r *Store) Watch(most int) *core.Watch {
	ws := &watching{r: r, most: most, all: make([]watched, r.n)}
	for p := range ws.all {
		e, err := r.dir.Reader(ended, p)
		if err != nil {
			ws.lost = true
			continue
		}
		ws.all[p] = watched{e, e.Watch(most)}
	}
	return core.NewWatch(ws.take, ws.end)
}

func (ws *watching) take() ([]core.Change, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var out []core.Change
	for p, x := range ws.all {
		if x.w == nil {
			continue
		}
		if e, err := ws.r.dir.Reader(ended, p); err != nil || e != x.e {
			ws.lost = true
		}
		changes, complete := x.w.Take()
		if !complete {
			ws.lost = true
		}
		for i := range changes {
			changes[i].Ref = Outer(p, changes[i].Ref)
		}
		out = append(out, changes...)
	}
	if ws.lost || len(out) > ws.most {
		ws.lost = true
		return nil, false
	}
	return out, true
}

func (ws *watching) end() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, x := range ws.all {
		if x.w != nil {
			x.w.End()
		}
	}
	ws.all, ws.lost = nil, true
}
