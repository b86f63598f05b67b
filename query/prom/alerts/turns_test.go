package alerts

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bench is where nodes take turns: one evaluates each group.
type bench struct {
	mu       sync.Mutex
	turn     string            // whose turn it is
	states   map[string][]byte // by group
	released int
	err      error
}

// A seat is the bench as one node sees it.
type seat struct {
	*bench
	name   string
	groups *[]string
}

func (s seat) Have(groups []string) { *s.groups = groups }

func (s seat) Take(_ context.Context, group string) (bool, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn == s.name, s.states[group], s.err
}

func (s seat) Keep(_ context.Context, group string, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.states[group] = state
	}
	return s.err
}

// step lets a node evaluate what it is to evaluate.
func step(t *testing.T, m *Manager, at time.Time) {
	t.Helper()
	for _, g := range m.groups {
		if m.turn(t.Context(), g) {
			m.evaluate(t.Context(), g, at)
		}
	}
}

// TestNodesTakeTurns: one of two nodes evaluates. The other one shows its alerts, and goes on from
// where they were when it is its turn: what was pending fires in time, and a webhook is called
// once.
func TestNodesTakeTurns(t *testing.T) {
	hook := &world{status: http.StatusOK}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	shared := &bench{turn: "a", states: make(map[string][]byte)}
	nodes := make(map[string]*Manager)
	worlds := make(map[string]*world)
	for _, name := range []string{"a", "b"} {
		var groups []string
		nodes[name], worlds[name] = manager(t, loadRules, func(c *Config) { c.Webhooks = []string{server.URL} })
		nodes[name].Share(seat{shared, name, &groups})
		if !slices.Equal(groups, []string{"a.rules.yml;g"}) {
			t.Fatalf("node %s has %q", name, groups)
		}
		worlds[name].set("m > 5", map[string]float64{"x": 7})
	}
	a, b := nodes["a"], nodes["b"]
	if a.groups[0].fingerprint != b.groups[0].fingerprint {
		t.Error("nodes evaluate a group for different times")
	}
	at := time.Now().Add(-10 * time.Minute)
	both := func(want string, counted ...int) {
		t.Helper()
		step(t, a, at)
		step(t, b, at)
		at = at.Add(time.Minute)
		for i, m := range []*Manager{a, b} {
			if got := states(t, m); !slices.Equal(got, []string{want}) {
				t.Errorf("node %d shows %q, want %q", i, got, want)
			}
			if c := m.Counts(); c.Pending+c.Firing != counted[i] {
				t.Errorf("node %d counts %d alerts, want %d", i, c.Pending+c.Firing, counted[i])
			}
		}
	}
	both("x pending", 1, 0)
	if n := len(worlds["b"].asked); n > 0 {
		t.Errorf("the other node has asked %d times", n)
	}
	began := activeSince(a)
	shared.turn = "b"
	both("x pending", 0, 1)
	shared.turn = "a"
	step(t, b, at) // b sees it first
	both("x firing", 1, 0)
	if got := queued(a); !slices.Equal(got, []string{"High fires"}) {
		t.Errorf("the webhook got %q", got)
	}
	a.senders[0].queue = nil // it was
	both("x firing", 1, 0)
	if now := activeSince(a); !maps.Equal(began, now) {
		t.Errorf("the alert began anew: %v, and before %v", now, began)
	}
	shared.turn = "b"
	both("x firing", 0, 1)

	// While nobody knows whose turn it is, all stays as it was.
	shared.err = errors.New("no answer")
	asked := len(worlds["a"].asked)
	both("x firing", 0, 1)
	if len(worlds["a"].asked) != asked {
		t.Error("a node evaluates that is not known to be the one")
	}
	if got := append(queued(a), queued(b)...); len(got) > 0 {
		t.Errorf("the webhook got again %q", got)
	}
}

// activeSince returns since when alerts are true.
func activeSince(m *Manager) map[uint64]time.Time {
	out := make(map[uint64]time.Time)
	for _, g := range m.groups {
		for _, r := range g.rules {
			for h, a := range r.active {
				out[h] = a.ActiveAt.UTC()
			}
		}
	}
	return out
}

// TestStrangeStateOfAnotherNode: what cannot be read does not stop the evaluation.
func TestStrangeStateOfAnotherNode(t *testing.T) {
	for _, text := range []string{"!", `{"version":2}`, `{"version":1,"alerts":[{"rule":"High","state":"dancing"}]}`, `{"version":1,"alerts":[{"rule":"nosuch","state":"firing"}]}`} {
		m, w := manager(t, loadRules, nil)
		shared := &bench{turn: "a", states: map[string][]byte{"a.rules.yml;g": []byte(text)}}
		var groups []string
		m.Share(seat{shared, "a", &groups})
		w.set("m > 5", map[string]float64{"x": 7})
		step(t, m, time.Now())
		if got := states(t, m); !slices.Equal(got, []string{"x pending"}) {
			t.Errorf("%s: %q", text, got)
		}
		if !strings.Contains(string(shared.states["a.rules.yml;g"]), `"state":"pending"`) {
			t.Errorf("%s: kept %s", text, shared.states["a.rules.yml;g"])
		}
	}
}

// TestAlertsOfBeforeAreForgotten: a node that comes back shows no alerts of before that the node
// which evaluates does not have. That one keeps what it has also if nothing changes, and again if
// that failed.
func TestAlertsOfBeforeAreForgotten(t *testing.T) {
	shared := &bench{turn: "a", states: make(map[string][]byte)}
	var groups []string
	m, w := manager(t, loadRules, nil)
	w.set("m > 5", map[string]float64{"x": 7})
	at := time.Now().Add(-10 * time.Minute)
	step(t, m, at) // alone
	m.Share(seat{shared, "a", &groups})
	shared.err = errors.New("no answer")
	step(t, m, at)
	if len(shared.states) > 0 {
		t.Fatal("kept without an answer")
	}
	shared.err = nil
	step(t, m, at.Add(time.Second))
	if got := string(shared.states["a.rules.yml;g"]); !strings.Contains(got, `"state":"pending"`) {
		t.Errorf("kept %q", got)
	}
	clear(shared.states)
	step(t, m, at.Add(2*time.Second))
	if len(shared.states) > 0 {
		t.Errorf("kept again, and nothing has changed: %s", shared.states)
	}
	shared.turn = "b"
	step(t, m, at.Add(3*time.Second))
	if got := states(t, m); len(got) > 0 {
		t.Errorf("shows %q, which the node that evaluates has not", got)
	}
}

func (s seat) Release(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released++; s.released == 2 {
		return errors.New("no answer")
	}
	return nil
}

// TestLastGroupIsReleased: a node whose files are read again, and have no group any more, lets
// others evaluate what it did. It is tried again when the servers do not answer.
func TestLastGroupIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &bench{turn: "a", states: make(map[string][]byte)}
		m, _ := manager(t, loadRules, func(*Config) {})
		var groups []string
		m.Share(seat{shared, "a", &groups})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		released := func(want int) {
			t.Helper()
			shared.mu.Lock()
			defer shared.mu.Unlock()
			if shared.released != want {
				t.Errorf("released %d times, want %d", shared.released, want)
			}
		}
		synctest.Wait()
		released(1) // the start
		if err := m.Reload(nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		released(2)
		time.Sleep(releaseAgain + time.Second)
		released(3)
		cancel()
		running.Wait()
		if len(groups) != 0 {
			t.Errorf("it still has %q", groups)
		}
	})
}
