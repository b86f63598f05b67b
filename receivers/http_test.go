package receivers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A posts receiver takes one sample a request, "SECOND VALUE": as little as a protocol over HTTP
// can be.
type posts struct {
	receivers.Counters
	*receivers.Requests
	series *receivers.Resolver
}

var postsProtocol = receivers.Protocol{
	Name: "posts", Network: receivers.HTTP, Address: receivers.On, Routes: []string{"POST /posts"},
	New: func(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
		p := &posts{series: receivers.NewResolver(sink, cfg, "posts")}
		p.Requests = receivers.NewRequests(sink, &p.Counters, cfg)
		return p, nil
	},
}

func (p *posts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Handle(w, r, func(ctx context.Context, body []byte) {
		var at, value int64
		if _, err := fmt.Sscanf(string(body), "%d %d", &at, &value); err != nil {
			p.Drop(receivers.Malformed, 1)
			http.Error(w, "no SECOND VALUE", http.StatusBadRequest)
			return
		}
		reqs := []receivers.Request{{
			Identity: receivers.Identity{Path: "posts/x"}, Sender: "x", Time: rra.Seconds(at), Define: receivers.StandardDefinition,
		}}
		if err := p.series.Resolve(ctx, reqs); err != nil {
			receivers.TryAgain(w, err.Error())
			return
		}
		if err := reqs[0].Err; err != nil {
			p.Drop(reqs[0].Series(0).Why, 1)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var b core.Batch
		b.Add(reqs[0].Ref, rra.Seconds(at), rra.Int(value))
		var rejected *core.RejectedError
		switch err := p.Store(ctx, &b, 1); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.As(err, &rejected):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			receivers.TryAgain(w, err.Error())
		}
	})
}

func (p *posts) Stats() receivers.Stats { return p.Counters.Stats() }

// TestHTTPSuite: the suite holds of a receiver over HTTP that does what the contract says.
func TestHTTPSuite(t *testing.T) {
	receivertest.Run(t, receivertest.Case{
		Fixed:    true,
		Protocol: postsProtocol,
		Message:  func(n int) []byte { return fmt.Appendf(nil, "%d %d", receivertest.Epoch+n, n) },
		Garbage:  [][]byte{[]byte("x"), {}, bytes.Repeat([]byte("9"), 100)},
		Request: func(t testing.TB, url string, message []byte) *http.Request {
			q, err := http.NewRequest(http.MethodPost, url+"/posts", bytes.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			return q
		},
	})
}

// TestUnpackedBodies: unpacked bodies share a bounded memory, whatever the number of requests.
func TestUnpackedBodies(t *testing.T) {
	var c receivers.Counters
	q := receivers.NewRequests(new(receivertest.Recorder), &c, receivers.Config{})
	release, ok := q.Unpack(200 << 20)
	if !ok {
		t.Fatal("the first body is refused")
	}
	if _, ok := q.Unpack(100 << 20); ok {
		t.Error("300 MiB are let in")
	}
	release()
	if _, ok := q.Unpack(100 << 20); !ok {
		t.Error("memory is not given back")
	}
	if st := c.Stats(); st.Dropped[receivers.Overload] != 1 {
		t.Errorf("%+v, want one drop", st)
	}
}

// TestStoreOutcomes: what the sink says of a request's samples becomes counters.
func TestStoreOutcomes(t *testing.T) {
	sink := &scripted{outcomes: []error{
		nil,
		&core.RejectedError{Accepted: 1, Late: 2, Other: 1, First: []core.Rejection{{Err: core.ErrNotFound}}},
		errors.New("disk on fire"),
	}}
	var c receivers.Counters
	q := receivers.NewRequests(sink, &c, receivers.Config{})
	for i := range 3 {
		var b core.Batch
		for range 4 {
			b.Add(1, rra.Seconds(int64(i)), rra.Int(1))
		}
		before := q.Generation()
		err := q.Store(t.Context(), &b, 4)
		if (err != nil) != (i > 0) || (q.Generation() != before) != (i == 1) {
			t.Errorf("batch %d: %v, generation %d", i, err, q.Generation())
		}
	}
	st := c.Stats()
	if st.Samples != 12 || st.Values != 12 || st.Dropped[receivers.Late] != 2 || st.Dropped[receivers.State] != 1 || st.Dropped[receivers.Failed] != 4 {
		t.Errorf("%+v", st)
	}
	if a := q.Addr(); a != nil {
		t.Errorf("without a port the address is %v", a)
	}
}
