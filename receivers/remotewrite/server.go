package remotewrite

import (
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
)

// A server is the receiver.
type server struct {
	receivers.Counters
	*receivers.Requests
	cfg   receivers.Config
	set   settings
	sink  receivers.Sink
	works sync.Pool // of *work
	log   loglimit.Limit[string]

	// order is held while the samples of a request are checked and handed to the sink, so that
	// the sink gets them in the order in which they were checked. It guards what follows, and is
	// a channel so that a request does not wait for ever.
	order      chan struct{}
	table      *table
	generation uint64
	pause      receivers.Pause // new series are not asked for while it lasts
	families   families
}

func newServer(cfg receivers.Config, sink receivers.Sink) (*server, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, set: set, sink: sink, order: make(chan struct{}, 1), table: newTable(maxKeys)}
	s.Requests = receivers.NewRequests(sink, &s.Counters, cfg)
	s.works.New = func() any { return new(work) }
	return s, nil
}

// Stats is receivers.Receiver's.
func (s *server) Stats() receivers.Stats { return s.Counters.Stats() }

// enter takes order. It returns false if it cannot within Config.Patience.
func (s *server) enter() bool {
	select {
	case s.order <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(s.cfg.Patience)
	defer t.Stop()
	select {
	case s.order <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

func (s *server) leave() { <-s.order }
