package peer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

const token = "the secret of the cluster"

// patience is how long a test waits for what comes at once on an idle machine.
const patience = time.Minute

// serve serves partition 3 until the test is over, and returns its address.
func serve(t testing.TB, s *peer.Server) *httptest.Server {
	t.Helper()
	s.Token = token
	path, h, err := s.Handler()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, h)
	web := httptest.NewUnstartedServer(mux)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetHTTP1(true)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

// partition returns partition 3 as another node sees it.
func partition(t testing.TB, address string, o peer.Options) *peer.Client {
	t.Helper()
	if o.Token == "" {
		o.Token = token
	}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	n, err := peer.NewNode(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n.Partition(3)
}

// of serves one engine as partition 3.
func of(e core.Engine) *peer.Server {
	return &peer.Server{Partition: func(p int) (core.Engine, error) {
		if p != 3 {
			return nil, core.ErrUnavailable
		}
		return e, nil
	}}
}

func TestPeerIsAsTheStore(t *testing.T) {
	s := enginetest.Open(t)
	enginetest.Conform(t, partition(t, serve(t, of(s)).URL, peer.Options{}), core.Options{})
}

// A node that may not lead any more does not say that a series is missing.
func TestLookupOfALeader(t *testing.T) {
	s := enginetest.Open(t)
	ref := gauge(t, s, "a")
	server := of(s)
	var answer error
	server.Leads = func(p int) error {
		if p != 3 {
			t.Errorf("partition %d", p)
		}
		return answer
	}
	c := partition(t, serve(t, server).URL, peer.Options{})
	if _, err := c.LookupLeading("b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a series that is not there: %v", err)
	}
	answer = core.ErrNotLeader
	if _, err := c.LookupLeading("b"); !errors.Is(err, core.ErrNotLeader) || errors.Is(err, core.ErrNotFound) {
		t.Errorf("while the node does not lead: %v", err)
	}
	if got, err := c.Lookup("a"); err != nil || got != ref {
		t.Errorf("%v, %v, want %v", got, err, ref)
	}
}

// gauge makes a series of one source.
func gauge(t testing.TB, e core.Engine, path string) core.Ref {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:200000"})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := core.Create(t.Context(), e, core.Spec{Path: path, Definition: d, Start: rra.Seconds(1000)})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestCallersNeedCredentials(t *testing.T) {
	s := enginetest.Open(t)
	web := serve(t, of(s))
	_, err := partition(t, web.URL, peer.Options{Token: "another one"}).Lookup("a")
	if err == nil || !strings.Contains(err.Error(), "have the same --cluster-token-file") || errors.Is(err, core.ErrNotFound) {
		t.Errorf("with a wrong token: %v", err)
	}
	var b core.Batch
	b.Add(1, 1, rra.Int(1))
	err = core.Append(t.Context(), partition(t, web.URL, peer.Options{Token: "another one"}), &b)
	if err == nil || !strings.Contains(err.Error(), "token of this cluster") {
		t.Errorf("samples with a wrong token: %v", err)
	}
	if _, _, err := new(peer.Server).Handler(); err == nil {
		t.Error("a server without token and certificates serves everybody")
	}
	if _, err := partition(t, web.URL, peer.Options{}).Lookup("a"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("with the token: %v", err)
	}
}

func TestClientCertificateIsAsked(t *testing.T) {
	s := of(enginetest.Open(t))
	s.Certificates = true
	web := serve(t, s)
	if _, err := partition(t, web.URL, peer.Options{}).Lookup("a"); err == nil || !strings.Contains(err.Error(), "certificate is needed: all of its nodes, and commands that reach them, have --cluster-node-tls") {
		t.Errorf("without a certificate: %v", err)
	}
}

func TestOtherPartitionIsAway(t *testing.T) {
	web := serve(t, of(enginetest.Open(t)))
	n, err := peer.NewNode(web.URL, peer.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c := n.Partition(4)
	if _, err := c.Lookup("a"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a partition that the node does not have: %v", err)
	}
	var b core.Batch
	b.Add(1, 1, rra.Int(1))
	if err := core.Append(t.Context(), c, &b); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("samples for a partition that the node does not have: %v", err)
	}
	if w := c.Watch(10); func() bool { _, complete := w.Take(); return complete }() {
		t.Error("a watch of what the node does not have is complete")
	}
}

// The function of an Alter runs on the caller's node. While the caller is slow, the series waits on
// the other node, but not for ever.
func TestAlterDoesNotWaitForEver(t *testing.T) {
	s := enginetest.Open(t)
	gauge(t, s, "a")
	server := of(s)
	server.AlterTime = time.Millisecond
	c := partition(t, serve(t, server).URL, peer.Options{})
	ended := make(chan struct{})
	server.Partition = func(int) (core.Engine, error) { return alterTold{s, ended}, nil }
	_, err := c.Alter(t.Context(), "a", func(x core.Copy) (core.Copy, error) {
		<-ended // the other node has given up
		return x, nil
	})
	if !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("an Alter whose function is slow: %v", err)
	}
}

// alterTold says when an Alter has ended.
type alterTold struct {
	core.Engine
	ended chan struct{}
}

func (e alterTold) Alter(ctx context.Context, path string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	defer close(e.ended)
	return e.Engine.Alter(ctx, path, change)
}

// Alter calls its function again when the series has changed meanwhile.
func TestAlterSeesNewSamples(t *testing.T) {
	s := enginetest.Open(t)
	ref := gauge(t, s, "a")
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	calls := 0
	_, err := c.Alter(t.Context(), "a", func(x core.Copy) (core.Copy, error) {
		if calls++; calls == 1 {
			var b core.Batch
			b.Add(ref, rra.Seconds(1010), rra.Int(7))
			if err := s.Append(t.Context(), &b); err != nil {
				t.Error(err)
			}
		}
		return x, nil
	})
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	now, err := c.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := core.Last(t.Context(), c, now); err != nil || at != rra.Seconds(1010) {
		t.Errorf("the sample that came meanwhile is lost: %d, %v", at, err)
	}
}

// Rows that fill many messages arrive whole.
func TestLongRowsArriveWhole(t *testing.T) {
	s := enginetest.Open(t)
	ref := gauge(t, s, "a")
	var b core.Batch
	for i := range int64(150_000) {
		b.Add(ref, rra.Seconds(1010+10*i), rra.Int(i))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	want, err := s.Fetch(t.Context(), ref, 0, 1000, 1000+10*160_000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := core.Fetch(t.Context(), c, ref, 0, 1000, 1000+10*160_000)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d values, want %d: %v", len(got.Values), len(want.Values), err)
	}
	err = c.FetchMany(t.Context(), core.Spans([]core.Ref{ref, ref, ref}, 0, 1000, 1000+10*160_000), func(i int, r *core.Rows, err error) {
		if err != nil || fmt.Sprint(*r) != fmt.Sprint(want) {
			t.Errorf("series %d: %d values, want %d: %v", i, len(r.Values), len(want.Values), err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	x, err := c.Export(t.Context(), ref)
	if err != nil || len(x.Rows[0]) < 150_000 {
		t.Errorf("the whole series: %v", err)
	}
}

// A new replica begins with a backup of another one.
func TestBackupOfAnotherNode(t *testing.T) {
	s := enginetest.Open(t)
	for i := range 5 {
		gauge(t, s, fmt.Sprint("series/", i))
	}
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	var backup bytes.Buffer
	if err := c.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := core.Restore(&backup, filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	replica := enginetest.OpenDir(t, filepath.Join(dir, "db"), core.Options{})
	for x, err := range s.Select(t.Context(), core.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		want, failed := s.Export(t.Context(), x.Ref)
		got, err := replica.Export(t.Context(), x.Ref)
		if err = errors.Join(failed, err); err != nil || fmt.Sprint(got.Path, got.State, got.Rows) != fmt.Sprint(want.Path, want.State, want.Rows) {
			t.Errorf("the replica has %v, the other one %v: %v", got, want, err)
		}
	}
	away := partition(t, serve(t, of(struct{ core.Engine }{s})).URL, peer.Options{})
	if err := away.Backup(t.Context(), io.Discard); !errors.Is(err, core.ErrNoFolder) {
		t.Errorf("a backup of what is not a folder: %v", err)
	}
}

// Replicas on two nodes take a digest at the same position.
func TestDigestsOfTwoNodes(t *testing.T) {
	log := waltest.NewStream(1)
	o := core.Options{NoBackground: true, Follow: func(wal.Pos) (core.Source, error) { return log.Reader(), nil }}
	o.OpenLog = func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		return log.Open(after, onDurable)
	}
	a, b := enginetest.OpenDir(t, t.TempDir(), o), enginetest.OpenDir(t, t.TempDir(), o)
	if err := a.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	gauge(t, a, "series")
	leader, other := partition(t, serve(t, of(a)).URL, peer.Options{}), partition(t, serve(t, of(b)).URL, peer.Options{})
	want, err := leader.TakeDigest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other.AwaitDigest(t.Context(), want.At); err != nil || got != want.Sum || want.At != a.Position() {
		t.Errorf("digest %x at %d, the leader has %+v at %d: %v", got, b.Position(), want, a.Position(), err)
	}
	if _, err := other.TakeDigest(t.Context(), 1); !errors.Is(err, core.ErrNotLeader) {
		t.Errorf("a follower begins a digest: %v", err)
	}
	away := partition(t, serve(t, of(struct{ core.Engine }{a})).URL, peer.Options{})
	if _, err := away.TakeDigest(t.Context(), 1); !errors.Is(err, core.ErrNoFolder) {
		t.Errorf("a digest of what is not a folder: %v", err)
	}
}

// A caller that stops a list does not keep the other node busy.
func TestListThatIsStoppedEnds(t *testing.T) {
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	specs := make([]core.Spec, 5_000)
	for i := range specs {
		specs[i] = core.Spec{Path: fmt.Sprintf("series/%04d", i), Definition: d}
	}
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	made, err := c.CreateBatch(t.Context(), specs)
	if err != nil || len(made) != len(specs) {
		t.Fatalf("%d series made, %v", len(made), err)
	}
	for range 20 {
		for x, err := range c.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if err != nil || x.Path != "series/0000" {
				t.Fatalf("%v, %v", x, err)
			}
			break
		}
	}
	n := 0
	for _, err := range c.Select(t.Context(), core.Query{Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(specs) {
		t.Errorf("%d series listed, want %d", n, len(specs))
	}
}

// What is too large is refused before it is sent, and a server refuses it before it decodes it.
func TestTooLargeIsRefused(t *testing.T) {
	s := enginetest.Open(t)
	ref := gauge(t, s, "a")
	server := of(s)
	server.MaxCopy = 10_000
	c := partition(t, serve(t, server).URL, peer.Options{})
	var b core.Batch
	text := strings.Repeat("7", 1<<20)
	for i := range int64(40) {
		b.AddText(ref, rra.Seconds(1010+10*i), []rra.Value{rra.Text(0)}, []string{text})
	}
	if err := core.Append(t.Context(), c, &b); !errors.Is(err, core.ErrTooLarge) {
		t.Errorf("a batch of 40 MiB: %v", err)
	}
	if _, err := c.Update(t.Context(), ref, &b); !errors.Is(err, core.ErrTooLarge) {
		t.Errorf("an update of 40 MiB: %v", err)
	}
	x, err := s.Export(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	x.Path, x.Rows[0] = "b", make([]float64, 5000)
	if _, err := core.Import(t.Context(), c, []core.Copy{x}, false); !errors.Is(err, core.ErrTooLarge) {
		t.Errorf("an import over the limit of the server: %v", err)
	}
}

// A rename on the other node comes with the next answer.
func TestRenamesAreTold(t *testing.T) {
	s := enginetest.Open(t)
	gauge(t, s, "a")
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	if _, err := c.Lookup("a"); err != nil {
		t.Fatal(err)
	}
	before := c.Renames()
	if err := s.Rename(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lookup("b"); err != nil {
		t.Fatal(err)
	}
	if now := c.Renames(); now != before+1 {
		t.Errorf("renames grow from %d to %d", before, now)
	}
}
