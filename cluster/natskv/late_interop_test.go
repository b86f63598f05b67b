package natskv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/internal/natstest"
)

// TestReadsWhatItWrote: each of three stores is connected to another server; two of these follow.
// Whatever a store has written or removed shows at its next read.
func TestReadsWhatItWrote(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	connect(t, natskv.Options{URL: c.URLs(), Bucket: "b"}) // all servers are ready
	var all sync.WaitGroup
	for i, n := range c.Nodes {
		s := connect(t, natskv.Options{URL: n.URL, Bucket: "b"})
		all.Go(func() {
			key, ctx := fmt.Sprintf("of.%d.key", i), t.Context()
			for round := range 100 {
				rev, err := s.CompareAndSet(ctx, key, []byte{byte(round)}, 0)
				if err != nil {
					t.Errorf("set %s: %v", key, err)
					return
				}
				list, err := s.List(ctx, fmt.Sprintf("of.%d.", i))
				if err != nil || len(list) != 1 || list[0].Revision != rev {
					t.Errorf("%s at revision %d: listed %v, %v", key, rev, list, err)
				}
				err = s.Delete(ctx, key, rev)
				for try := 0; errors.Is(err, coord.ErrConflict) && try < 20; try++ {
					// A busy server says so of the write before, which it has acknowledged.
					time.Sleep(50 * time.Millisecond)
					err = s.Delete(ctx, key, rev)
				}
				if err != nil {
					t.Errorf("remove %s: %v", key, err)
					return
				}
				if e, err := s.Get(ctx, key); err != nil || e.Revision != 0 {
					t.Errorf("%s was removed: got %v, %v", key, e, err)
				}
			}
		})
	}
	all.Wait()
}

// A script answers reads of a bucket in place of the servers.
type script struct {
	t       *testing.T
	nc      *nats.Conn
	mu      sync.Mutex
	answers [][]*nats.Msg // to come; the last one stays
	asked   []string      // subjects
}

// scripted returns a store whose bucket is read by a script, and set by a real server.
func scripted(t *testing.T) (*script, *natskv.Store) {
	n := natstest.One(t)
	s := connect(t, natskv.Options{URL: n.URL, Bucket: "b", AcceptFewerReplicas: true})
	js := natstest.JetStream(t, n.URL)
	stream, err := js.Stream(t.Context(), natskv.Stream("b"))
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = false // the server does not answer beside the script
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	p := &script{t: t, nc: js.Conn()}
	if _, err := p.nc.Subscribe("$JS.API.DIRECT.GET."+natskv.Stream("b"), p.answer); err != nil {
		t.Fatal(err)
	}
	if err := p.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return p, s
}

func (p *script) answer(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ask struct {
		Last []string `json:"multi_last"`
	}
	if err := json.Unmarshal(m.Data, &ask); err != nil {
		p.t.Error(err)
	}
	p.asked = append(p.asked, strings.Join(ask.Last, " "))
	if len(p.answers) == 0 {
		p.t.Errorf("asked for %v, and there is no answer", ask.Last)
		return
	}
	for _, a := range p.answers[0] {
		a.Subject = m.Reply
		if err := p.nc.PublishMsg(a); err != nil {
			p.t.Error(err)
		}
	}
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
}

// set sets what is answered from now on, and returns what was asked before.
func (p *script) set(answers ...[]*nats.Msg) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.answers, p.asked = answers, nil
	return asked
}

// has is a message of an answer, with more headers.
func has(key string, revision int, headers ...string) *nats.Msg {
	m := nats.NewMsg("")
	m.Header.Set(jetstream.SubjectHeader, "$KV.b."+key)
	m.Header.Set(jetstream.SequenceHeader, fmt.Sprint(revision))
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	m.Data = []byte(key)
	return m
}

// status is the end of an answer.
func status(code, description string, headers ...string) *nats.Msg {
	m := has("", 0, headers...)
	m.Header.Del(jetstream.SubjectHeader)
	m.Header.Set("Status", code)
	m.Header.Set("Description", description)
	m.Data = nil
	return m
}

// upto is the end of a whole answer that reaches up to a revision.
func upto(revision int) *nats.Msg {
	return status("204", "EOB", "Nats-Num-Pending", "0", "Nats-UpTo-Sequence", fmt.Sprint(revision))
}

// TestLateReplica: what a replica that is behind answers was taken for the state of the cluster.
func TestLateReplica(t *testing.T) {
	p, s := scripted(t)
	ctx := t.Context()
	keys := func(prefix string) (keys []string) {
		t.Helper()
		all, err := s.List(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			keys = append(keys, fmt.Sprint(e.Key, "=", e.Revision))
		}
		return keys
	}
	nothing := []*nats.Msg{status("404", "No Results")}
	p.set(nothing)
	if got := keys("a."); len(got) != 0 {
		t.Errorf("an empty bucket: %v", got)
	}
	if asked := p.set([]*nats.Msg{has("a.1", 5), has("a.2", 7), upto(40)}); !slices.Equal(asked, []string{"$KV.b.a.>"}) {
		t.Errorf("asked %q", asked)
	}
	if got := keys("a."); !slices.Equal(got, []string{"a.1=5", "a.2=7"}) {
		t.Errorf("first list: %v", got)
	}
	// Replicas are behind, also one that has nothing at all. A key is gone at last.
	p.set(nothing, []*nats.Msg{has("a.1", 5), upto(39)}, []*nats.Msg{has("a.1", 5), has("a.2", 41, "KV-Operation", "DEL"), upto(41)})
	if got := keys("a."); !slices.Equal(got, []string{"a.1=5"}) {
		t.Errorf("behind replicas that lag: %v", got)
	}
	// Where the prefix may have no key, one more is asked for: it shows how far the answer reaches.
	asked := p.set(nothing, []*nats.Msg{has("a.2", 7), upto(40)}, []*nats.Msg{has("a.2", 41, "KV-Operation", "DEL"), upto(41)})
	if len(asked) != 3 {
		t.Errorf("asked %d times, not 3: %q", len(asked), asked)
	}
	if got := keys("c."); len(got) != 0 {
		t.Errorf("a prefix without keys: %v", got)
	}
	if asked := p.set([]*nats.Msg{has("a.2", 41, "KV-Operation", "DEL"), upto(41)}); len(asked) != 3 || asked[0] != "$KV.b.c.> $KV.b.a.2" {
		t.Errorf("asked %q", asked)
	}
	if e, err := s.Get(ctx, "c.1"); err != nil || e.Revision != 0 {
		t.Errorf("a key that is not there: %v, %v", e, err)
	}
	// Keys that the servers or an operator have removed are no entries.
	p.set([]*nats.Msg{has("a.1", 42, "KV-Operation", "PURGE"), has("a.2", 43, "Nats-Marker-Reason", "MaxAge"), has("a.3", 44), upto(44)})
	if got := keys("a."); !slices.Equal(got, []string{"a.3=44"}) {
		t.Errorf("behind purged keys: %v", got)
	}
	// All replicas stay behind: that is an error, and not what was there once.
	p.set([]*nats.Msg{has("a.1", 5), has("a.2", 7), upto(43)})
	all, err := s.List(ctx, "a.")
	if err == nil || !strings.Contains(err.Error(), "up to revision 43, and not 44") {
		t.Errorf("listed %v, %v", all, err)
	}
	if asked := p.set(nothing); len(asked) < 2 || len(asked) > 20 {
		t.Errorf("asked %d times", len(asked))
	}
}

// TestReadsBehindWrite: a value that was set counts as seen.
func TestReadsBehindWrite(t *testing.T) {
	p, s := scripted(t)
	rev, err := s.CompareAndSet(t.Context(), "a.1", []byte("x"), 0)
	if err != nil || rev != 1 {
		t.Fatal(rev, err)
	}
	p.set([]*nats.Msg{status("404", "No Results")}, []*nats.Msg{has("a.1", 1), upto(1)})
	if all, err := s.List(t.Context(), "a."); err != nil || len(all) != 1 {
		t.Errorf("behind a write: %v, %v", all, err)
	}
	if err := s.Delete(t.Context(), "a.1", 1); err != nil {
		t.Fatal(err)
	}
	p.set([]*nats.Msg{has("a.1", 1), upto(1)}, []*nats.Msg{has("a.1", 2, "KV-Operation", "DEL"), upto(2)})
	if e, err := s.Get(t.Context(), "a.1"); err != nil || e.Revision != 0 {
		t.Errorf("behind a removal: %v, %v", e, err)
	}
}

// TestBrokenAnswers: an answer that is not whole is an error. The end of one in whose midst the
// server could not read a message was taken for the end of the list.
func TestBrokenAnswers(t *testing.T) {
	p, s := scripted(t)
	for want, answer := range map[string][]*nats.Msg{
		"Message Not Found":        {has("a.1", 1), status("404", "Message Not Found")},
		"Too Many Results":         {status("413", "Too Many Results")},
		"leaves 3 out":             {has("a.1", 1), status("204", "EOB", "Nats-Num-Pending", "3", "Nats-UpTo-Sequence", "9")},
		"how far its answer":       {has("a.1", 1), status("204", "EOB", "Nats-Num-Pending", "0")},
		"sequence of a.1":          {has("a.1", 1, jetstream.SequenceHeader, "x"), upto(9)},
		`the subject "$KV.c.a.1"`:  {has("a.1", 1, jetstream.SubjectHeader, "$KV.c.a.1"), upto(9)},
		"with more than 1024 keys": slices.Repeat([]*nats.Msg{has("a.1", 1)}, 1025),
	} {
		p.set(answer)
		if all, err := s.List(t.Context(), "a."); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, all, err)
		}
	}
	p.set([]*nats.Msg{has("a.1", 1), upto(1)})
	if all, err := s.List(t.Context(), "a."); err != nil || len(all) != 1 {
		t.Errorf("an answer that is whole: %v, %v", all, err)
	}
}

// TestMovesFromLateServer: when a server stays behind, the connection goes to another one.
func TestMovesFromLateServer(t *testing.T) {
	p, s := scripted(t)
	p.set([]*nats.Msg{has("a.1", 5), upto(5)})
	if _, err := s.List(t.Context(), "a."); err != nil {
		t.Fatal(err)
	}
	p.set([]*nats.Msg{has("a.1", 4), upto(4)})
	if _, err := s.List(t.Context(), "a."); err == nil {
		t.Error("a list that is older than the one before")
	}
	for deadline := time.Now().Add(time.Minute); s.Conn().Stats().Reconnects == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the connection stays with a server that is behind")
		}
	}
}

// TestBucketThatHasLostItsEnd: servers whose disks have forgotten what they had kept every node out
// of the cluster until it was restarted.
func TestBucketThatHasLostItsEnd(t *testing.T) {
	p, s := scripted(t)
	s.BelieveAfter(10 * time.Millisecond)
	p.set([]*nats.Msg{has("a.1", 5), upto(5)})
	if _, err := s.List(t.Context(), "a."); err != nil {
		t.Fatal(err)
	}
	p.set([]*nats.Msg{has("a.1", 4), upto(4)})
	for i := range 2 {
		if _, err := s.List(t.Context(), "a."); err == nil {
			t.Errorf("list %d is older than the one before", i)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		all, err := s.List(t.Context(), "a.")
		if err == nil && len(all) == 1 && all[0].Revision == 4 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a while: %v, %v", all, err)
		}
	}
}
