package router

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// ended is a context that has ended: a Directory that is asked with it does not wait.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// LeaderNow returns the engine that leads partition p of a Directory. It does not wait for one.
func LeaderNow(d Directory, p int) (core.Engine, error) { return d.Leader(ended, p) }

// ReaderNow returns an engine that answers questions about partition p of a Directory. It does not
// wait for one.
func ReaderNow(d Directory, p int) (core.Engine, error) { return d.Reader(ended, p) }

// How long a call waits before it asks again after an engine that does not lead any more.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// leader returns the engine that leads partition p. It waits for one for Options.Wait at most. The
// error wraps core.ErrUnavailable, or is ctx's.
func (r *Store) leader(ctx context.Context, p int) (core.Engine, error) {
	return r.leaderUntil(ctx, p, new(time.Time))
}

// leaderUntil is leader with the time at which to give up. If that is zero and there is no leader,
// leaderUntil sets it: so a call that needs several leaders waits once.
func (r *Store) leaderUntil(ctx context.Context, p int, until *time.Time) (core.Engine, error) {
	if e, err := r.dir.Leader(ended, p); err == nil {
		return e, nil
	}
	return r.await(ctx, p, until, r.dir.Leader)
}

// await waits until find returns an engine.
func (r *Store) await(ctx context.Context, p int, until *time.Time, find func(context.Context, int) (core.Engine, error)) (core.Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if until.IsZero() {
		*until = time.Now().Add(r.options.Wait)
	}
	wait, cancel := context.WithDeadline(ctx, *until)
	defer cancel()
	e, err := find(wait, p)
	switch {
	case err == nil:
		return e, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("no replica has answered in time")
	}
	return nil, unavailable(p, err)
}

// write calls fn with the leader of partition p, and again with the next leader if that engine does
// not lead any more, or has not answered. Then fn may have done already what it does: doing it
// again must do no harm, or has a number: see numbered. write remembers how far the partition has
// come: see mark.
func (r *Store) write(ctx context.Context, p int, fn func(e core.Engine) error) error {
	return r.writeUntil(ctx, p, time.Time{}, fn)
}

// writeUntil is write with the time at which to give up; zero: after Options.Wait.
func (r *Store) writeUntil(ctx context.Context, p int, until time.Time, fn func(e core.Engine) error) error {
	var last core.Engine
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		e, err := r.leaderUntil(ctx, p, &until)
		if err != nil {
			return err
		}
		if err = fn(e); err == nil || !elsewhere(err) {
			r.marks[p].acknowledged(e)
			return err
		}
		if closedHere(err, e, last) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(r.options.Wait)
		} else if time.Now().After(until) {
			return unavailable(p, err)
		}
		last = e
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// numbered returns a context with numbers for n parts of one change of partition p. With it the
// change is made once, however often it is asked for, and whoever leads.
func (r *Store) numbered(ctx context.Context, p, n int) context.Context {
	last := r.calls[p].Add(uint64(n))
	return core.WithNumber(ctx, core.Number{Session: r.session ^ 1, N: last - uint64(n) + 1})
}

// inPieces makes a change whose parts have a number each.
func inPieces[T, U any](ctx context.Context, r *Store, p int, parts []T, change func(e core.Engine, ctx context.Context, piece []T) ([]U, error)) (out []U, err error) {
	for piece := range slices.Chunk(parts, pieceParts) {
		ctx := r.numbered(ctx, p, len(piece))
		got, err := order(ctx, r, p, func(e core.Engine) ([]U, error) { return change(e, ctx, piece) })
		if out = append(out, got...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// pieceParts is small beside how many numbers of a session a partition knows.
const pieceParts = 128

// reader returns an engine that answers questions about partition p and has what was written
// through r.
func (r *Store) reader(ctx context.Context, p int) (core.Engine, error) {
	e, err := r.dir.Reader(ended, p)
	if err != nil {
		if e, err = r.await(ctx, p, new(time.Time), r.dir.Reader); err != nil {
			return nil, err
		}
	}
	if at := r.marks[p].position(); at > 0 {
		return r.caughtUp(ctx, p, e, at)
	}
	return e, nil
}

// caughtUp returns e once it has reached a position. If e does not get there, or does not know, it
// returns the leader.
func (r *Store) caughtUp(ctx context.Context, p int, e core.Engine, at wal.Pos) (core.Engine, error) {
	x, ok := e.(Replica)
	if ok && x.Position() >= at {
		return e, nil
	}
	if lead, err := r.dir.Leader(ended, p); err == nil && lead == e {
		return e, nil // it has what it has acknowledged
	}
	if ok {
		wait, cancel := context.WithTimeout(ctx, r.options.Wait)
		err := x.WaitFor(wait, at)
		cancel()
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return r.leader(ctx, p)
}

// Read calls fn with an engine that answers questions about partition p, counted from 0, and has
// what was written through r. If the engine cannot be reached, fn is called again with the leader,
// and then with the next one; so it is if the engine has met damage, and does not lead.
func (r *Store) Read(ctx context.Context, p int, fn func(e core.Engine) error) error {
	e, err := r.reader(ctx, p)
	if err != nil {
		return err
	}
	var until time.Time
	for pause := time.Duration(0); ; pause = min(max(2*pause, firstPause), lastPause) {
		if err = fn(e); errors.Is(err, core.ErrDamaged) {
			lead, failed := r.dir.Leader(ended, p)
			if failed != nil || lead == e {
				return err
			}
			e = lead
			continue
		}
		if err == nil || !lost(err) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(r.options.Wait)
		}
		if pause > 0 && (!elsewhere(err) || time.Now().After(until)) {
			return within(p, err)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
		next, failed := r.leaderUntil(ctx, p, &until)
		if failed != nil || closedHere(err, next, e) || next == e && !elsewhere(err) {
			return within(p, err)
		}
		e = next
	}
}

// ask is Read for a question that one value answers.
func ask[T any](ctx context.Context, r *Store, p int, question func(e core.Engine) (T, error)) (answer T, err error) {
	err = r.Read(ctx, p, func(e core.Engine) (err error) {
		answer, err = question(e)
		return err
	})
	return answer, err
}

// order is write for a change that one value answers.
func order[T any](ctx context.Context, r *Store, p int, change func(e core.Engine) (T, error)) (answer T, err error) {
	err = r.write(ctx, p, func(e core.Engine) (err error) {
		answer, err = change(e)
		return err
	})
	return answer, err
}
