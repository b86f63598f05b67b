package mono

import (
	"context"
	"errors"
	"time"
)

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
