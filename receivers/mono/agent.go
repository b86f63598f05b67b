package mono

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// handle reads one connection or file to its end.
func (s *server) handle(ctx context.Context, st *streams.Stream) {
	a := &agent{s: s, Stream: st, since: s.Config.Now()}
	if a.Conn != nil {
		s.mu.Lock()
		s.peers[a.Peer] = a // known to Control
		s.mu.Unlock()
	}
	err := a.decode(ctx)
	s.mu.Lock()
	if s.peers[a.Peer] == a {
		delete(s.peers, a.Peer)
	}
	s.mu.Unlock()
	a.finish(err)
}

// decode reads until the connection or the file ends, and returns the reason.
func (a *agent) decode(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx = ctx
	return a.dec.Decode(a, a)
}

// Read is where the decoder waits for more bytes: a.mu is released meanwhile.
func (a *agent) Read(p []byte) (int, error) {
	held := a.dec.Held()
	all, more := a.s.held.Add(int64(held-a.held)), held > a.held
	a.held = held
	if more && all > a.s.maxHeld { // only an agent that announces more is refused
		return 0, failure(receivers.Limit, 0, "the agents have announced %d bytes, at most %d are kept", all, a.s.maxHeld)
	}
	ask := a.greeted && a.Conn != nil
	a.greeted = false
	a.mu.Unlock()
	if ask {
		a.askWanted()
	}
	n, err := a.Stream.Read(p)
	a.mu.Lock()
	a.now = a.s.Config.Now()
	return n, err
}

// finish ends the stream because of err, and counts the error.
func (a *agent) finish(err error) {
	log := a.s.Config.Logger
	var wrong *receivers.Error
	purpose := true // the receiver ends the connection
	switch {
	case errors.As(err, &wrong):
		a.bad(err)
	case errors.Is(err, sockets.ErrIdle):
		log.Info("mono: agent is silent, its connection is closed", "peer", a.Peer)
	case errors.Is(err, sockets.ErrForeign): // the peer would not understand a good bye
		purpose = false
	case a.ctxEnded(err):
	case a.Conn == nil && err != io.EOF:
		a.bad(fmt.Errorf("read: %w", err))
	default: // the agent has ended it
		purpose = false
		a.mu.Lock()
		err := a.dec.Close()
		a.mu.Unlock()
		if err != nil {
			a.bad(err)
		}
	}
	if purpose && a.Conn != nil {
		a.goodBye()
	}
	a.release()
	if a.Conn == nil {
		log.Info("mono: file read", "file", a.File, "samples", a.samples)
	}
}

func (a *agent) ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lingerTime is how long an agent has to hang up after a good bye. If the connection were closed
// with unread bytes of the agent, it would be reset, and the agent might not get the good bye.
const lingerTime = 100 * time.Millisecond

// goodBye sends the agent word that the connection ends, and waits a short time for the agent to
// end it.
func (a *agent) goodBye() {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.left {
		return
	}
	a.left = true
	if _, err := a.Conn.Write([]byte{goodBye}); err != nil {
		return
	}
	if half, ok := a.Conn.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	_ = a.Conn.SetReadDeadline(time.Now().Add(lingerTime)) // then reading says so
	_, _ = io.Copy(io.Discard, a.Conn.Conn)                // it is closed either way
}

// release frees what the server keeps for a, and answers the questions that wait.
func (a *agent) release() {
	a.writing.Lock()
	a.left = true
	a.writing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.asked {
		q.answer(answer{err: errGone})
	}
	a.asked = nil
	a.s.held.Add(-int64(a.held))
	for i := range a.series {
		a.forgetSeries(i)
	}
}

// Hello is Handler's.
func (a *agent) Hello() {
	a.s.Packets.Add(1)
	a.greeted = true
	a.grow()
}

// grow makes a.series as long as Readings.
func (a *agent) grow() {
	if n := len(a.dec.Readings()); n > len(a.series) {
		a.series = append(a.series, make([]receivers.Series, n-len(a.series))...)
	}
}

// Sample is Handler's. Agents send only values that have changed, so Sample stores the last values
// of all counters. If the agents of one address have used up their pace, it stores only the values
// that have changed.
func (a *agent) Sample(ticks int64, changed []int) {
	a.s.Packets.Add(1)
	a.samples++
	at, ok := TimeOf(ticks)
	if !ok {
		at = rra.Time(a.now.UnixMicro())
	}
	rs := a.dec.Readings()
	which := changed
	if a.Conn == nil || a.s.carried.Spend(a.Host, len(rs), a.now) {
		which = a.all()
	} else {
		a.s.Drop(receivers.Limit, 1) // one sample, although a part of it is stored
	}
	if at < rra.Seconds(2) || at > a.s.Config.Latest(a.now) {
		a.s.Drop(receivers.State, uint64(max(known(rs, which), 1)))
		return
	}
	a.last = at
	a.refresh()
	a.resolve(at, which)
	a.Queue.Do(func(q *receivers.Queue) { a.add(q, at, which) })
}

// all returns the positions of all readings.
func (a *agent) all() []int {
	for n := len(a.positions); n < len(a.dec.Readings()); n++ {
		a.positions = append(a.positions, n)
	}
	return a.positions
}

// known returns how many of the readings at the positions which have a value.
func known(rs []Reading, which []int) (n int) {
	for _, i := range which {
		if rs[i].Known {
			n++
		}
	}
	return n
}

// add adds one sample of each series at the positions which.
func (a *agent) add(q *receivers.Queue, at rra.Time, which []int) {
	rs := a.dec.Readings()
	for _, i := range which {
		r, s := &rs[i], &a.series[i]
		if !r.Known {
			continue
		}
		if s.Ref == 0 {
			a.s.Drop(s.Why, 1)
			continue
		}
		a.value[0] = r.Value()
		q.Add(s.Ref, at, a.value[:])
	}
	a.describe(q)
}

// List is Handler's.
func (a *agent) List(pairs []Pair) {
	a.s.Packets.Add(1)
	if q := a.answered(ListRequest); q != nil {
		q.answer(answer{pairs: pairs})
	}
}

// Added is Handler's.
func (a *agent) Added(s Status, position int) {
	a.s.Packets.Add(1)
	a.grow()
	q := a.answered(AddRequest)
	if q == nil {
		return
	}
	if q.every && s != OK {
		w := wanted{q.Category, q.Name}
		a.log("added "+w.String(), "agent does not sample what every agent is asked for", "counter", w, "status", s)
	}
	ans := answer{status: s}
	if position >= 0 {
		ans.counter = a.dec.Readings()[position].Counter
	}
	q.answer(ans)
}

// Removed is Handler's.
func (a *agent) Removed(s Status) {
	a.s.Packets.Add(1)
	q := a.answered(RemoveRequest)
	if q == nil {
		return
	}
	if s == OK {
		if i, ok := a.dec.at[q.Index]; ok {
			a.forgetSeries(int(i))
		}
		a.dec.Forget(q.Index)
	}
	q.answer(answer{status: s})
}
