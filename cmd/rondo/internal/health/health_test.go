package health_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

var began = time.Unix(1_700_000_000, 0)

// well is a state in which nothing is wrong, so long after the start.
func well(after time.Duration) health.State {
	return health.State{
		Now: began.Add(after), Started: began, Dir: "/var/lib/rondo",
		Store:    core.Stats{Series: 10, SeriesLimit: 1000, MemoryBytes: 1 << 20, MemoryBudget: 1 << 30},
		DiskFree: 100 << 30, DiskSize: 200 << 30,
		Receivers: []health.Receiver{{Name: "collectd", Addr: "127.0.0.1:25826", Stats: receivers.Stats{Packets: 1, Samples: 9}}},
		Senders:   []sink.Sender{{Name: "web1", Prefix: "collectd", First: began, Last: began.Add(after), Samples: 9}},
	}
}

// TestEachProblemIsTold: what was wrong stood only in counters that one had to know.
func TestEachProblemIsTold(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*health.State)
		id, text string // of the problem that must be the worst
		severity health.Severity
	}{
		{"damage", func(s *health.State) { s.Store.Damaged = 2 }, "damaged", "2 places in the database cannot be read", health.Error},
		{"log", func(s *health.State) { s.Store.LogFailures = 1 }, "log", "The log cannot be written", health.Error},
		{"checkpoint", func(s *health.State) { s.Store.CheckpointFailures = 1 }, "checkpoint", "The database file cannot be written", health.Error},
		{"commit", func(s *health.State) { s.Store.DatabaseFailures = 1 }, "checkpoint", "The database file cannot be written", health.Error},
		{"disk", func(s *health.State) { s.DiskFree = 500 << 20 }, "disk", "has only 500 MiB left", health.Warning},
		{"free pages", func(s *health.State) { s.Store.DatabaseBytes, s.Store.DatabaseFree = 300<<20, 100<<20 }, "space", "100 MiB of the 300 MiB", health.Info},
		{"full disk", func(s *health.State) { s.DiskFree = 0 }, "disk", "has only 0 B left", health.Error},
		{"memory", func(s *health.State) { s.Store.MemoryBytes = 1 << 30 }, "memory", "1 GiB of the 1 GiB", health.Warning},
		{"many series", func(s *health.State) { s.Store.Series = 950 }, "series", "there may be 1000", health.Warning},
		{"too many series", func(s *health.State) { s.Store.Series = 1000 }, "series", "new ones are not made", health.Error},
		{"newcomers", func(s *health.State) { s.Sink.Refused[sink.RefusedSender] = 1 }, "sender_limit", "more new series", health.Warning},
		{"policy", func(s *health.State) { s.Sink.Refused[sink.RefusedInvalid] = 1 }, "invalid_series", "not valid", health.Warning},
		{"late", func(s *health.State) { s.Store.SamplesLate = 1 }, "late", "out of order", health.Warning},
		{"own figures", func(s *health.State) { s.FiguresLate = rra.Seconds(1_700_000_000) }, "own_figures", "until 2023-11-14T22:13:20Z", health.Warning},
		{"refused", func(s *health.State) { s.Store.SamplesRefused = 1 }, "refused", "Samples are refused", health.Warning},
		{"kernel", func(s *health.State) { s.Receivers[0].Stats.KernelDropped = 1 }, "kernel_dropped/collectd", "before rondo can read them", health.Error},
		{"clock", func(s *health.State) { s.Receivers[0].Stats.Dropped[receivers.State] = 1 }, "state/collectd", "in the future", health.Warning},
		{"overload", func(s *health.State) { s.Receivers[0].Stats.Dropped[receivers.Overload] = 1 }, "overload/collectd", "faster than", health.Error},
		{"nothing yet", func(s *health.State) { s.Receivers[0].Stats = receivers.Stats{} }, "nothing", "received so far by collectd at 127.0.0.1:25826", health.Info},
		{"silent", func(s *health.State) { s.Senders[0].Last = began }, "silent", "1 sender has been silent for more than 10 minutes: web1.", health.Warning},
		{"sparse", func(s *health.State) {
			s.Sparse = []sink.Sparse{{Path: "a/b", Source: "value", Heartbeat: 20, Apart: 300}}
		}, "sparse", "1 series gets samples further apart than the heartbeat, so that rows are unknown: a/b (300 s apart, heartbeat 20 s).", health.Warning},
		{"rules", func(s *health.State) {
			s.Alerting.Failing = []alerts.Failing{{Group: "g", Rule: "High", Err: "too slow"}}
		}, "rules", "1 rule fails: High in g: too slow.", health.Warning},
		{"slow rules", func(s *health.State) {
			s.Alerting.Slow = []alerts.Slow{{Group: "g", Took: 70 * time.Second, Interval: time.Minute}}
		}, "slow_rules/g", "The rules of g take 1m10s, longer than their interval of 1m0s: evaluations are left out.", health.Warning},
		{"webhook", func(s *health.State) {
			s.Alerting.Refusing = []alerts.Refusing{{To: "http://a/hook", Err: "503 Service\nUnavailable"}}
		}, "alert_receiver/http://a/hook", `http://a/hook does not take alerts: "503 Service\nUnavailable".`, health.Error},
		{"backup", func(s *health.State) { s.BackupErr = errors.New("no space left") }, "backup", "failed: no space left. None is known", health.Error},
		{"configuration", func(s *health.State) { s.ConfigBad = true }, "config", "has a mistake", health.Warning},
		{"restart", func(s *health.State) { s.Restart = 2 }, "restart", "2 changed settings take effect", health.Info},
		{"taken", func(s *health.State) { s.Missed = []string{"--http 127.0.0.1:9180"} }, "taken", "--http 127.0.0.1:9180", health.Info},
		{"open", func(s *health.State) { s.Open = []string{"http 0.0.0.0:80"} }, "open", "http 0.0.0.0:80", health.Info},
		{"host", func(s *health.State) { s.HostRefused = 1 }, "host", "not this server's", health.Info},
		{"shed", func(s *health.State) { s.Shed = 1 }, "shed", "too many are under way", health.Warning},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w health.Watch
			w.Observe(well(15 * time.Minute))
			now := well(16 * time.Minute)
			if ps := w.Problems(now); len(ps) != 0 {
				t.Fatalf("problems when all is well: %v", ps)
			}
			c.change(&now)
			ps := w.Problems(now)
			if len(ps) != 1 {
				t.Fatalf("%d problems, want 1: %v", len(ps), ps)
			}
			p := ps[0]
			if p.ID != c.id || p.Severity != c.severity || !strings.Contains(p.Text, c.text) || !strings.HasSuffix(p.Text, ".") {
				t.Errorf("problem %q, %v: %s", p.ID, p.Severity, p.Text)
			}
			if p.Advice == "" || !p.Since.Equal(now.Now) {
				t.Errorf("since %v: advice %q", p.Since, p.Advice)
			}
		})
	}
}

// TestLossLingers: a loss stays a problem for a while after it has stopped, and then ends.
func TestLossLingers(t *testing.T) {
	var w health.Watch
	state := func(after time.Duration, lost uint64) health.State {
		s := well(after)
		s.Receivers[0].Stats.KernelDropped = lost
		return s
	}
	const began = 20 * time.Minute
	w.Observe(state(began, 0))
	w.Observe(state(began+10*time.Second, 5))
	w.Observe(state(began+20*time.Second, 7))
	for after, want := range map[time.Duration]int{30 * time.Second: 1, 5 * time.Minute: 1} {
		ps := w.Problems(state(began+after, 7))
		if len(ps) != want || !ps[0].Since.Equal(well(began+10*time.Second).Now) {
			t.Errorf("after %v: %v", after, ps)
		}
	}
	if ps := w.Problems(state(began+10*time.Minute, 7)); len(ps) != 0 {
		t.Errorf("after it has ended: %v", ps)
	}
	w.Observe(state(began+11*time.Minute, 7))
	if ps := w.Problems(state(began+12*time.Minute, 8)); len(ps) != 1 || !ps[0].Since.Equal(well(began+12*time.Minute).Now) {
		t.Errorf("it begins again: %v", ps)
	}
}

// TestBefore: rates are taken over a minute, or less when the server is young.
func TestBefore(t *testing.T) {
	var w health.Watch
	if _, ok := w.Before(began); ok {
		t.Error("a state before any was observed")
	}
	for i := range 40 {
		at := time.Duration(i) * 10 * time.Second
		w.Observe(well(at))
		s, ok := w.Before(began.Add(at + time.Second))
		if want := max(at-time.Minute, 0); !ok || s.Now.Sub(began) != want {
			t.Errorf("at %v: %v, %v; want %v", at, s.Now.Sub(began), ok, want)
		}
	}
	w.Observe(well(time.Second)) // the clock was set back
	if s, ok := w.Before(began.Add(2 * time.Second)); !ok || s.Now.Sub(began) != time.Second {
		t.Errorf("after the clock was set back: %v, %v", s.Now.Sub(began), ok)
	}
	if _, ok := w.Before(began.Add(time.Hour)); ok {
		t.Error("a state of an hour ago")
	}
}

// TestNamesOfSendersAreTexts: a sender may call itself anything.
func TestNamesOfSendersAreTexts(t *testing.T) {
	var w health.Watch
	s := well(time.Hour)
	s.Senders = nil
	for _, name := range []string{"a\nb", "", "<b>", strings.Repeat("x", 1000), "e"} {
		s.Senders = append(s.Senders, sink.Sender{Name: name, Last: began, Samples: 1})
	}
	ps := w.Problems(s)
	if len(ps) != 1 || strings.Contains(ps[0].Text, "\n") || len(ps[0].Text) > 500 || !strings.Contains(ps[0].Text, "2 more") {
		t.Errorf("%v", ps)
	}
}
