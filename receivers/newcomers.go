package receivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/rra"
)

// Samples of series without a reference are newcomers. A receiver collects them, and asks the sink
// for all their series together: one wait instead of one for each series. It asks when it has read
// all datagrams that had arrived, and no later than these bounds say.
const (
	MaxNewcomers     = 8192                  // newcomers that wait
	MaxNewcomerBytes = 1 << 20               // bytes of memory that they take, about
	NewcomerWait     = 50 * time.Millisecond // how long the first of them waits
)

// A receiver reads nothing while it waits for the sink. So it does not wait for long, and does not
// ask again soon after the sink has failed.
const (
	resolveTimeout = 2 * time.Second  // how long a receiver waits for the sink
	retryFailed    = time.Second      // until the sink is asked again after it has failed
	retryLimit     = 10 * time.Second // until a series over a limit is asked for again
	retryOther     = time.Minute      // until a series refused for another reason is asked for again
)

// ErrSources says that the data sources of a series do not take the values of a receiver.
var ErrSources = errors.New("the data sources of the series do not take the values")

// A failure is the Err of a request that the sink has not answered.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

var errPause = &failure{fmt.Errorf("it has failed a moment ago: %w", core.ErrUnavailable)}

// A Series is where the values of one key go.
type Series struct {
	Ref   core.Ref // 0: nowhere
	Retry uint32   // if Ref is 0: the tick from which on the series is asked for
	Why   Reason   // if Ref is 0: why values are dropped until then
	Kind  rra.Kind // if Ref is not 0: of the data source that takes values, if it is the only one
}

// Due reports whether the series is to be asked for at a tick.
func (s *Series) Due(tick uint32) bool { return s.Ref == 0 && tick >= s.Retry }

// Series returns what has become of a request that a Resolver was given, at a tick. If there is no
// series, it says when to ask again.
func (r *Request) Series(tick uint32) Series {
	if r.Err == nil {
		ds, _ := OnlySource(r.Definition)
		return Series{Ref: r.Ref, Kind: ds.Kind}
	}
	if !r.Answered() { // nothing is known of the series: the Resolver's pause is enough
		return Series{Why: FailureReason(r.Err)}
	}
	why, retry := absence(r.Err)
	return Series{Why: why, Retry: tick + uint32(retry/time.Second)}
}

// Answered reports whether the sink has answered the request.
func (r *Request) Answered() bool {
	_, failed := errors.AsType[*failure](r.Err)
	return !failed
}

// absence returns the reason for which samples are dropped whose series is missing because of err,
// and after how long the series is to be asked for again.
func absence(err error) (why Reason, retry time.Duration) {
	if errors.Is(err, ErrSenderLimit) || errors.Is(err, core.ErrSeriesLimit) {
		return Limit, retryLimit
	}
	if errors.Is(err, core.ErrUnavailable) {
		return Overload, retryFailed
	}
	return State, retryOther
}

// A Resolver asks a sink for series, for all connections of a receiver. It pauses when the sink has
// failed, and logs what fails. Its methods may be called concurrently.
type Resolver struct {
	sink  Sink
	name  string // of the protocol
	log   *slog.Logger
	now   func() time.Time
	lines loglimit.Limit[string]
	began time.Time
	pause atomic.Int64 // nanoseconds from began to the end of the pause
}

// NewResolver returns a Resolver that asks sink. protocol stands in its log lines.
func NewResolver(sink Sink, cfg Config, protocol string) *Resolver {
	cfg = cfg.WithDefaults()
	return &Resolver{sink: sink, name: protocol, log: cfg.Logger, now: cfg.Now, began: cfg.Now()}
}

// Tick returns a time in ticks: seconds since the Resolver was made, and one. If the system's clock
// is set, ticks go on.
func (r *Resolver) Tick(now time.Time) uint32 {
	return uint32(max(now.Sub(r.began), 0)/time.Second) + 1
}

// Paused reports whether the sink has failed within the last second.
func (r *Resolver) Paused() bool { return int64(r.now().Sub(r.began)) < r.pause.Load() }

// Fail notes that the sink has failed to answer reqs: it begins a pause, and logs that. It returns
// what it writes into the requests.
func (r *Resolver) Fail(err error, reqs []Request) error {
	if !errors.Is(err, context.Canceled) { // then nobody waits for the answer
		now := r.now()
		r.pause.Store(int64(now.Sub(r.began) + retryFailed))
		r.lines.Log(r.log.Error, "failed", now, r.name+": series not made", "series", len(reqs), "err", err)
	}
	err = &failure{err}
	fail(reqs, err)
	return err
}

func fail(reqs []Request, err error) {
	for i := range reqs {
		reqs[i].Err = err
	}
}

// Asking returns a context for a call of the sink for which a receiver waits. It ends after two
// seconds, and not when ctx does: samples read before ctx ended are still stored.
func Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
}

// Resolve has the sink find or make the series of reqs: each has an Err, or a series that takes
// values. It waits as long as Asking says. During a pause the sink is not asked. The error says why
// the sink has not answered some requests.
func (r *Resolver) Resolve(ctx context.Context, reqs []Request) error {
	for len(reqs) > 0 {
		n := min(len(reqs), MaxNewcomers)
		if r.Paused() {
			fail(reqs, errPause)
			return errPause
		}
		one, cancel := Asking(ctx)
		err := r.Ask(one, reqs[:n])
		cancel()
		if err != nil {
			fail(reqs[n:], err)
			return err
		}
		reqs = reqs[n:]
	}
	return nil
}

// Ask is Resolve without its pause and its time limit: it waits until ctx ends.
func (r *Resolver) Ask(ctx context.Context, reqs []Request) error {
	if err := r.sink.Resolve(ctx, reqs); err != nil {
		return r.Fail(err, reqs)
	}
	for i := range reqs {
		q := &reqs[i]
		if q.Err == nil && !q.Taken() {
			q.Err = ErrSources
		}
		if q.Err == nil {
			continue
		}
		r.lines.Log(r.log.Warn, "refused", r.now(), r.name+": values are dropped", "series", q.Path, "err", q.Err)
	}
	return nil
}

// Taken reports whether the series with the Definition takes the values.
func (r *Request) Taken() bool {
	if r.Fits != nil {
		return r.Fits(r.Definition)
	}
	_, ok := OnlySource(r.Definition)
	return ok
}

// Newcomers are values V that wait, in order, for the series of their keys K. One goroutine at a
// time may use them. The zero value is ready.
type Newcomers[K comparable, V any] struct {
	reqs   []Request
	byKey  map[K]int // key → index of its request
	values []newcomer[V]
	bytes  int
	since  time.Time // when the first value came
}

type newcomer[V any] struct {
	value   V
	request int
}

// Len returns how many values wait.
func (n *Newcomers[K, V]) Len() int { return len(n.values) }

// Requests returns the requests, by their indices.
func (n *Newcomers[K, V]) Requests() []Request { return n.reqs }

// Index returns the index of the request for the series of a key, if there is one.
func (n *Newcomers[K, V]) Index(k K) (i int, ok bool) {
	i, ok = n.byKey[k]
	return i, ok
}

// Ask adds the request for the series of a key, which has none, and returns its index.
func (n *Newcomers[K, V]) Ask(k K, q Request) int {
	if n.byKey == nil {
		n.byKey = make(map[K]int)
	}
	i := len(n.reqs)
	n.byKey[k] = i
	n.reqs = append(n.reqs, q)
	return i
}

// Wait adds a value of the series of request i. bytes is how much memory the value takes, about.
func (n *Newcomers[K, V]) Wait(i int, v V, bytes int, now time.Time) {
	if len(n.values) == 0 {
		n.since = now
	}
	n.values = append(n.values, newcomer[V]{v, i})
	n.bytes += bytes
}

// Full reports whether so many values wait that their series must be resolved now.
func (n *Newcomers[K, V]) Full() bool {
	return len(n.values) >= MaxNewcomers || n.bytes >= MaxNewcomerBytes
}

// Ripe reports whether the series are to be resolved now. more says that there is more to read: to
// resolve many together is cheaper.
func (n *Newcomers[K, V]) Ripe(more bool, now time.Time) bool {
	return len(n.values) > 0 && (!more || n.Full() || now.Sub(n.since) >= NewcomerWait)
}

// Resolve resolves the requests with r. Call Replay then.
func (n *Newcomers[K, V]) Resolve(ctx context.Context, r *Resolver) error {
	return r.Resolve(ctx, n.reqs)
}

// Replay empties n. It calls take with each value and what has become of its request, and counts
// the values that have no series. If the sink has not answered, take is not called, so that nothing
// is remembered.
func (n *Newcomers[K, V]) Replay(c *Counters, take func(v *V, i int, q *Request)) {
	for k := range n.values {
		v := &n.values[k]
		q := &n.reqs[v.request]
		if q.Err != nil {
			c.Drop(q.Series(0).Why, 1)
		}
		if q.Answered() {
			take(&v.value, v.request, q)
		}
	}
	n.Reset()
}

// Reset empties n.
func (n *Newcomers[K, V]) Reset() {
	clear(n.values)
	clear(n.reqs)
	clear(n.byKey)
	n.values, n.reqs, n.bytes = n.values[:0], n.reqs[:0], 0
}
