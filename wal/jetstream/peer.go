package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// A peer is a connection to a server, with one subscription for the answers to all questions. With
// a subscription for each question all servers of the cluster would get it.
type peer struct {
	nc     *nats.Conn
	prefix string // of the subjects of answers

	mu      sync.Mutex // guards what follows
	asked   uint64
	waiting map[string]chan *nats.Msg // by the rest of the subject
}

func newPeer(nc *nats.Conn) (*peer, error) {
	p := &peer{nc: nc, prefix: nc.NewInbox() + ".", waiting: make(map[string]chan *nats.Msg)}
	sub, err := nc.Subscribe(p.prefix+"*", p.deliver)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1) // what is asked for is bounded
	}
	if err != nil {
		return nil, fmt.Errorf("listen for answers: %w", err)
	}
	return p, nil
}

// deliver hands an answer to the one who asked. Answers that nobody waits for any more are dropped.
func (p *peer) deliver(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.waiting[strings.TrimPrefix(m.Subject, p.prefix)] <- m:
	default: // more than was asked for, or nobody asked
	}
}

// ask publishes a question and calls fn for each answer, until fn returns false or an error. There
// are most answers at most.
func (p *peer) ask(ctx context.Context, subject string, question []byte, most int, fn func(m *nats.Msg) (more bool, err error)) error {
	answers := make(chan *nats.Msg, most)
	p.mu.Lock()
	p.asked++
	id := strconv.FormatUint(p.asked, 36)
	p.waiting[id] = answers
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
	}()
	if err := p.nc.PublishRequest(subject, p.prefix+id, question); err != nil {
		return err
	}
	for {
		select {
		case m := <-answers:
			if more, err := fn(m); !more || err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
