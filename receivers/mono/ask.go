package mono

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// answered returns the question that an answer to the command c belongs to. Answers come in the
// order of the requests, so questions before it will not be answered any more. If there is no such
// question it returns nil, and counts the answer as dropped. a.mu is held.
func (a *agent) answered(c Command) *question {
	i := slices.IndexFunc(a.asked, func(q *question) bool { return q.Command == c })
	if i < 0 {
		a.s.Drop(receivers.State, 1)
		return nil
	}
	for _, q := range a.asked[:i] {
		q.answer(answer{err: errors.New("the agent has passed the request over")})
	}
	q := a.asked[i]
	a.asked = slices.Delete(a.asked, 0, i+1)
	return q
}

// ask sends a request. It refuses to ask for a counter that the agent samples already, because the
// agent would close the connection, and for a counter that it has been asked for and has not
// answered yet.
func (a *agent) ask(r Request, every bool) (*question, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.left {
		return nil, errGone
	}
	b, err := AppendRequest(nil, a.s.set.dialect, r)
	if err != nil {
		return nil, err
	}
	q := &question{Request: r, done: make(chan answer, 1), every: every}
	if err := a.expect(q); err != nil {
		return nil, err
	}
	if _, err := a.Conn.Write(b); err != nil {
		a.left = true
		_ = a.Conn.Conn.Close() // its reader sees that
		return nil, fmt.Errorf("write to the agent: %w", err)
	}
	return q, nil
}

// expect adds q to the questions that wait for an answer.
func (a *agent) expect(q *question) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) >= maxAsked {
		return fmt.Errorf("the agent has %d requests to answer", len(a.asked))
	}
	if q.Command == AddRequest {
		w := wanted{q.Category, q.Name}
		if r := a.reading(w); r != nil {
			return fmt.Errorf("%q is sampled already, with the index %d", w, r.Index)
		}
		for _, other := range a.asked {
			if other.Command == AddRequest && other.Category == q.Category && other.Name == q.Name {
				return fmt.Errorf("the agent was asked for %q and has not answered", w)
			}
		}
	}
	a.asked = append(a.asked, q)
	return nil
}

// askWanted asks the agent for those counters that every agent is asked for and that it has not
// announced.
func (a *agent) askWanted() {
	for _, w := range a.s.set.add {
		a.mu.Lock()
		announced := a.reading(w) != nil
		a.mu.Unlock()
		if announced {
			continue
		}
		if _, err := a.ask(Request{Command: AddRequest, Category: w.category, Name: w.name}, true); err != nil {
			a.s.Config.Logger.Warn("mono: agent not asked", "peer", a.Peer, "counter", w, "err", err)
			return
		}
	}
}

const (
	answerTime = 10 * time.Second // how long an agent may take to answer
	maxAsked   = 1024             // requests that one agent has not answered
)

var (
	errGone   = errors.New("the agent has gone without an answer")
	errSilent = errors.New("the agent does not answer; is --" + flagDialect.Name + " right?")
)

// A question is a request that waits for its answer.
type question struct {
	Request
	done chan answer // has room for the one answer
	// every says that every agent is asked this. Nobody waits for the answer.
	every bool
}

type answer struct {
	status  Status
	counter Counter // of an add
	pairs   []Pair  // of a list
	err     error
}

func (q *question) answer(a answer) { q.done <- a }

func (q *question) wait(ctx context.Context, most time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errSilent)
	defer cancel()
	select {
	case ans := <-q.done:
		return ans, ans.err
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}
