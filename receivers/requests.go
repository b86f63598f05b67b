package receivers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/rra"
)

// HTTP is the network of protocols that are requests to the server's HTTP port.
const HTTP = "http"

// On is the address of a protocol of the network "http" that is received by default.
const On = "on"

// A Handler is a Receiver of the network "http". The server calls ServeHTTP for each request that
// matches one of the protocol's Routes, from the time when New has returned until Serve has
// returned, and possibly a little later. The body of a request is complete and in memory, and no
// longer than a few megabytes, before the call begins: [Body] returns it.
type Handler interface {
	Receiver
	http.Handler
}

// maxUnpacked is how many bytes of unpacked bodies may be in memory at a time, of all requests of a
// receiver.
const maxUnpacked = 256 << 20

// Requests is what receivers over HTTP have in common. It lets requests in while Serve runs, counts
// them, and stores their samples before they are answered: an answer of success means that the
// samples are durable. Its methods may be called concurrently.
type Requests struct {
	sink     Sink
	c        *Counters
	cfg      Config
	places   *limit.Limit // of requests that are being handled
	unpacked *limit.Limit // bytes
	now      func() time.Time
	base     context.Context // of calls of the sink; ends when the grace of Serve is over
	cut      context.CancelFunc
	stale    atomic.Uint64

	mu     sync.Mutex // guards what follows
	closed bool       // no request is let in any more
	renew  Renewal
	under  sync.WaitGroup
}

// NewRequests returns Requests that store in sink and count in c. cfg.Address is the address of the
// HTTP port.
func NewRequests(sink Sink, c *Counters, cfg Config) *Requests {
	cfg = cfg.WithDefaults()
	places := int64(cfg.InFlight)
	q := &Requests{
		sink: sink, c: c, cfg: cfg, now: cfg.Now,
		places: limit.New(places, max(places*3/4, 1)), unpacked: limit.New(maxUnpacked, maxUnpacked),
	}
	q.base, q.cut = context.WithCancel(context.Background())
	return q
}

// Addr returns the address of the HTTP port; nil if the configuration names none.
func (q *Requests) Addr() net.Addr {
	a, err := netip.ParseAddrPort(q.cfg.Address)
	if err != nil {
		return nil
	}
	return net.TCPAddrFromAddrPort(a)
}

// Serve waits until ctx ends. Then it lets no more requests in and waits for those under way. When
// Config.Grace is over, it cancels what they ask of the sink.
func (q *Requests) Serve(ctx context.Context) error {
	<-ctx.Done()
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	t := time.AfterFunc(q.cfg.Grace, q.cut)
	q.under.Wait()
	t.Stop()
	q.cut()
	return nil
}

// Close lets no more requests in.
func (q *Requests) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

// Handle calls serve with the body of r. If the receiver has ended, or as many requests as
// Config.InFlight are handled for as long as Config.Patience, it answers r itself with 503. One
// client may have three quarters of the places. ctx is for calls of the sink. It does not end when
// the client goes away.
func (q *Requests) Handle(w http.ResponseWriter, r *http.Request, serve func(ctx context.Context, body []byte)) {
	if !q.begin() {
		TryAgain(w, "the receiver is ending")
		return
	}
	defer q.under.Done()
	body, err := Body(r)
	q.c.Packets.Add(1)
	q.c.Bytes.Add(uint64(len(body)))
	if err != nil {
		q.c.Drop(Truncated, 1)
		http.Error(w, "the request did not arrive: "+err.Error(), http.StatusBadRequest)
		return
	}
	client := sockets.ClientOf(r.RemoteAddr)
	if !q.places.Wait(r.Context(), client, 1, q.cfg.Patience) {
		q.c.Drop(Overload, 1)
		TryAgain(w, "too many requests are under way")
		return
	}
	defer q.places.Give(client, 1)
	serve(q.base, body)
}

func (q *Requests) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.under.Add(1)
	return true
}

// Unpack reserves n bytes for an unpacked body, before it is unpacked. Call release when the body
// is not used any more. If unpacked bodies take too much memory, ok is false, the request is
// counted as Overload, and TryAgain is the answer.
func (q *Requests) Unpack(n int64) (release func(), ok bool) {
	if !q.unpacked.Take("", n) {
		q.c.Drop(Overload, 1)
		return nil, false
	}
	return func() { q.unpacked.Give("", n) }, true
}

// Store stores b and returns when it is durable. values is the number of values in b. The error is
// a *core.RejectedError if some samples were refused and the others stored, or a *core.PartialError
// if some may be stored when they are sent again; any other error means that nothing was stored.
// Store waits for memory of the store as long as Config.Patience. It counts what was stored and
// what was not.
func (q *Requests) Store(ctx context.Context, b *core.Batch, values int) error {
	p, err := q.Submit(ctx, b, values)
	if err != nil {
		return err
	}
	return q.Wait(b, p)
}

// Submit is the first half of Store: batches are applied in the order of the calls. Call Wait with
// what it returns.
func (q *Requests) Submit(ctx context.Context, b *core.Batch, values int) (Pending, error) {
	ctx, cancel := context.WithTimeout(ctx, q.cfg.Patience)
	defer cancel()
	p, err := q.sink.Submit(ctx, b)
	if err != nil {
		q.c.Drop(FailureReason(err), uint64(b.Len()))
		return nil, err
	}
	q.renewAfter(p)
	q.c.Samples.Add(uint64(b.Len()))
	q.c.Values.Add(uint64(values))
	return p, nil
}

// renewAfter begins a Generation if it is time after a batch.
func (q *Requests) renewAfter(p Pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.renew.Due(p, q.now()) {
		q.stale.Add(1)
	}
}

// Wait is the second half of Store. If a series is not there any more, all samples are to be sent
// again: it is made anew then.
func (q *Requests) Wait(b *core.Batch, p Pending) error {
	err := p.Wait()
	if _, stale := q.c.lose(err, b.Len()); stale {
		q.stale.Add(1)
		return fmt.Errorf("a series was dropped or changed a moment ago: %w", core.ErrUnavailable)
	}
	return err
}

// A Filled is a batch on its way in which a receiver has put readings of 0. They may be late, where
// another node of a cluster has stored more. The batch names all refused samples.
type Filled struct {
	Pending
	Put []int // the indices of the readings, in order
}

// Wait leaves out of the error that they are late.
func (p Filled) Wait() error {
	err := p.Pending.Wait()
	r, ok := errors.AsType[*core.RejectedError](err)
	if !ok || len(p.Put) == 0 {
		return err
	}
	first := slices.DeleteFunc(slices.Clone(r.First), func(x core.Rejection) bool {
		_, put := slices.BinarySearch(p.Put, x.Index)
		_, late := errors.AsType[*rra.TimeError](x.Err)
		return put && late
	})
	late := len(r.First) - len(first)
	switch {
	case late == r.Late+r.Other:
		return nil
	case len(first) == 0: // the others are not named
		return err
	}
	return &core.RejectedError{Accepted: r.Accepted, Late: r.Late - late, Other: r.Other, First: first}
}

// Generation returns a number that changes when the sink has refused a reference, because a series
// was dropped, or has used one of a replaced series for a while. References from an earlier
// generation must be resolved again.
func (q *Requests) Generation() uint64 { return q.stale.Load() }

// TryAgain answers a request with 503: the client is to send it again, a second later at the
// earliest.
func TryAgain(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why+".", http.StatusServiceUnavailable)
}

// ClientHost returns the address of the client of a request, without its port.
func ClientHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// A WholeBody is the body of a request that has been read into memory.
type WholeBody struct {
	bytes.Reader
	all []byte
}

// NewWholeBody returns a body that consists of b.
func NewWholeBody(b []byte) *WholeBody {
	w := &WholeBody{all: b}
	w.Reset(b)
	return w
}

// Close does nothing.
func (*WholeBody) Close() error { return nil }

// Body returns the body of r. It copies nothing if the body is a WholeBody, as the server gives it.
func Body(r *http.Request) ([]byte, error) {
	switch b := r.Body.(type) {
	case nil:
		return nil, nil
	case *WholeBody:
		return b.all, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	return body, nil
}
