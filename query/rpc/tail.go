package rpc

import (
	"cmp"
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// The errors with which a Tail ends. The client may begin another one where this one ended.
var (
	errTailEnding = errors.New("the server is about to end: begin again, with the least end of the series as start")
	errTailOld    = errors.New("a Tail lasts an hour: begin again, with the least end of the series as start")
	errTailSlow   = errors.New("the client reads too slowly: begin again with fewer series, and with the least end of the series as start")
)

// Tail streams the new rows of series. It keeps no rows for the client: while the client reads one
// answer, the next rows wait in the store.
func (s *Server) Tail(ctx context.Context, req *rondov1.TailRequest, stream *connect.ServerStream[rondov1.TailResponse]) error {
	t, err := s.newTail(ctx, req)
	if err != nil {
		return err
	}
	t.send = stream.Send
	defer t.close()
	if err := t.choose(ctx); err != nil {
		return err
	}
	t.began = s.now().Unix()
	return t.run(ctx)
}

// newTail checks the request of a Tail.
func (s *Server) newTail(ctx context.Context, m *rondov1.TailRequest) (*tail, error) {
	t := &tail{server: s, view: s.view(ctx), request: m, left: m.GetAnswers(), start: -1, sentTo: make(map[string]int64), account: limit.Of(ctx).Another()}
	var err error
	if t.matchers, err = matchersOf(m.GetMatchers()); err != nil {
		return nil, err
	}
	if t.cf, err = parseCF(m.GetCf()); err != nil {
		return nil, err
	}
	switch {
	case t.cf > rra.Last:
		return nil, invalid("cf: the rows of %s are not streamed", t.cf)
	case m.GetAnswers() < 0:
		return nil, invalid("answers %d is negative", m.GetAnswers())
	case len(m.GetPaths()) > maxTailed:
		return nil, invalid("%d paths, at most %d are possible", len(m.GetPaths()), maxTailed)
	case len(m.GetPaths()) > 0 && (m.GetPrefix() != "" || len(m.GetMatchers()) > 0):
		return nil, invalid("paths does not go with prefix and matchers")
	}
	for _, path := range m.GetPaths() {
		if _, err := t.view.Lookup(path); err != nil && (errors.Is(err, core.ErrInvalid) || !errors.Is(err, core.ErrNotFound)) {
			return nil, fail(err, "look up %.200q", path)
		}
	}
	if m.GetStart() != "" {
		at, err := s.instant("start", m.GetStart())
		if err != nil {
			return nil, err
		}
		t.start = max(0, at.Unix())
	}
	return t, nil
}

// close gives back what t occupies.
func (t *tail) close() {
	t.server.tailed.Add(-t.counted)
	t.account.Close()
	if t.watch != nil {
		t.watch.End()
	}
}

// run sends rows until something ends the stream.
func (t *tail) run(ctx context.Context) error {
	every, round := cmp.Or(t.server.TailEvery, tailEvery), cmp.Or(t.server.TailRound, tailRound)
	asked := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	life := time.NewTimer(tailLife)
	defer life.Stop()
	// The first answer says that the series are chosen.
	if err := t.answer(&rondov1.TailResponse{}); err != nil {
		return err
	}
	for caughtUp := false; ; caughtUp = true {
		began := time.Now()
		if done, err := t.round(ctx); done || err != nil {
			return err
		}
		if time.Since(asked) >= recheck {
			asked = time.Now()
			if err := access.Again(ctx); err != nil {
				return fail(err, "tail")
			}
		}
		if t.failed == nil {
			t.since = time.Time{}
		} else if t.since.IsZero() {
			t.since = began
		}
		switch took := time.Since(began); {
		case t.failed != nil && time.Since(t.since) > round:
			return t.giveUp()
		case t.failed != nil: // the store was slow, and not the client
		case caughtUp && took > round:
			return connect.NewError(connect.CodeResourceExhausted, errTailSlow)
		case time.Since(t.sent) > tailSilence:
			if err := t.answer(&rondov1.TailResponse{}); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fail(ctx.Err(), "tail")
		case <-t.server.Ending:
			return connect.NewError(connect.CodeUnavailable, errTailEnding)
		case <-life.C:
			return connect.NewError(connect.CodeUnavailable, errTailOld)
		}
	}
}

// round sends the rows that have closed since the round before. It reports whether as many answers
// were sent as the request wants.
func (t *tail) round(ctx context.Context) (done bool, err error) {
	// The time comes first: changes that were taken are not seen again.
	if time.Since(t.chosen) > tailSelect && (t.unchosen != nil || changed(t.watch)) {
		t.unchosen = t.choose(ctx)
		if t.unchosen != nil && connect.CodeOf(t.unchosen) != connect.CodeUnavailable {
			return false, t.unchosen
		}
	}
	t.failed = t.unchosen
	for more := true; more; {
		var sent bool
		if sent, more, err = t.piece(ctx); err != nil {
			return false, err
		}
		if sent && t.left > 0 {
			if t.left--; t.left == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// changed reports whether the catalogue has changed since a watch began.
func changed(w *core.Watch) bool {
	changes, complete := w.Take()
	for _, c := range changes {
		if !c.Metadata {
			return true
		}
	}
	return !complete
}
