package gmetric

import (
	"cmp"
	"context"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A relabeler changes the labels of series. It has a goroutine of its own, because the store makes
// it wait for each change, and the loop that reads datagrams must not wait.
type relabeler struct {
	sink receivers.Sink
	cfg  receivers.Config
	jobs chan receivers.Request // when it is full, further changes wait in texts
	done chan struct{}          // closed when the goroutine has ended
	quit context.CancelFunc
}

const (
	queuedLabels  = 1024
	labelsTimeout = 10 * time.Second
)

func newRelabeler(sink receivers.Sink, cfg receivers.Config) *relabeler {
	return &relabeler{sink: sink, cfg: cfg, jobs: make(chan receivers.Request, queuedLabels), done: make(chan struct{})}
}

func (l *relabeler) start() {
	ctx, quit := context.WithCancel(context.Background())
	l.quit = quit
	go func() {
		defer close(l.done)
		var lines loglimit.Limit[string]
		for r := range l.jobs {
			if ctx.Err() != nil {
				continue
			}
			reqs := []receivers.Request{r}
			one, cancel := context.WithTimeout(ctx, labelsTimeout)
			err := l.sink.Resolve(one, reqs)
			cancel()
			if err == nil {
				err = reqs[0].Err
			}
			if err == nil {
				continue
			}
			lines.Log(l.cfg.Logger.Warn, "labels", l.cfg.Now(), "gmetric: labels not changed", "series", r.Path, "err", err)
		}
	}()
}

// put changes the labels of the series of d, soon. It reports whether there was room.
func (l *relabeler) put(host, name []byte, d *described, step int64) bool {
	if len(l.jobs) == cap(l.jobs) {
		return false // only this goroutine adds to jobs, so the send below does not block
	}
	md := d.metric
	l.jobs <- receivers.Request{
		Identity: identify(host, name, &md), Sender: d.sender, Time: d.at, Relabel: true,
		Define: func(own int64) *rra.Definition { return md.define(cmp.Or(own, step)) },
	}
	return true
}

// stop waits until all changes are made, but no longer than Config.Grace.
func (l *relabeler) stop() {
	close(l.jobs)
	t := time.AfterFunc(l.cfg.Grace, l.quit)
	<-l.done
	t.Stop()
	l.quit()
}
