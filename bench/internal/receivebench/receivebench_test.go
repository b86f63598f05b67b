package receivebench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// childOrder is the variable that makes the test binary a child of Run.
const childOrder = "RONDO_RECEIVE_ORDER"

func TestMain(m *testing.M) {
	if order := os.Getenv(childOrder); order != "" {
		if err := Child(context.Background(), order, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testConfig(t *testing.T) Config {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		// Loopback may swap packets that are sent from two processors: a round must be longer than
		// that matters.
		Protocol: "collectd", Series: 1450, Rate: 20_000, Length: 200 * time.Millisecond, Seed: 3, Dir: t.TempDir(), Verify: 300,
		Exec: func(ctx context.Context, arg string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), childOrder+"="+arg)
			return cmd
		},
	}
}

// TestProtocols: of every protocol all is stored, and ends as it was sent.
func TestProtocols(t *testing.T) {
	for _, name := range Protocols() {
		for _, segments := range []bool{false, true} {
			c := testConfig(t)
			c.Protocol, c.Segments = name, segments
			s := subjects[name]
			if segments && (runtime.GOOS != "linux" || s.protocol.Network != "udp") {
				continue
			}
			t.Run(fmt.Sprintf("%s/segments=%t", name, segments), func(t *testing.T) {
				if s.untimed {
					c.Rate = 5000 // or else a moment's pause is a step
				}
				r, err := Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if m := r.Rondo; m.Values == 0 || m.Values != m.Stored && !s.untimed || m.Verified != 300 {
					t.Errorf("%d values sent, %d stored, %d series verified, dropped %v", m.Values, m.Stored, m.Verified, m.Dropped)
				}
			})
		}
	}
}

func TestRun(t *testing.T) {
	c := testConfig(t)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Rondo
	if m.Values == 0 || m.Values != m.Stored || m.Loss != 0 || m.LostPackets != 0 || m.Dropped != nil {
		t.Errorf("%d values sent, %d stored, loss %v, %d packets lost, dropped %v", m.Values, m.Stored, m.Loss, m.LostPackets, m.Dropped)
	}
	if m.Verified != 300 {
		t.Errorf("%d series verified, want 300", m.Verified)
	}
	if m.User+m.System <= 0 || m.PeakRSS < 1<<20 || m.SenderSeconds <= 0 {
		t.Errorf("processor time %v and %v, the sender's %v, memory %d", m.User, m.System, m.SenderSeconds, m.PeakRSS)
	}
	if left, err := os.ReadDir(c.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var figures map[string]any
	if err := json.Unmarshal(out.Bytes(), &figures); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(figures)); !slices.Equal(got, []string{"protocol", "rate", "rondo"}) {
		t.Errorf("JSON has %q", got)
	}
	out.Reset()
	if err := r.WriteText(&out); err != nil || !strings.Contains(out.String(), "300 series end as they were sent") {
		t.Errorf("%v:\n%s", err, &out)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Protocol = "carrier pigeon" },
		func(c *Config) { c.Series = 0 },
		func(c *Config) { c.Rate = 0 },
		func(c *Config) { c.Length = 0 },
		func(c *Config) { c.Rate, c.Length, c.Series = 1e8, time.Hour, 1 },
	} {
		c := testConfig(t)
		change(&c)
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
}

// TestCollectdLoad: packets hold what the load says, however often they are stepped.
func TestCollectdLoad(t *testing.T) {
	const start = 1_700_000_000
	l := newCollectdLoad(1, 150, start)
	messages, series, values := l.size()
	if series != 200 || messages < 8 || messages > 20 || values < series {
		t.Fatalf("%d messages, %d series, %d values", messages, series, values)
	}
	moved := 0
	var before map[string]state
	for round := range 4 {
		got := make(map[string]state)
		for i := range messages {
			b, samples, n := l.step(i)
			if len(b) > collectd.DefaultPacketBytes {
				t.Errorf("packet of %d bytes", len(b))
			}
			var lists valueLists
			if err := new(collectd.Decoder).Decode(b, &lists); err != nil {
				t.Fatal(err)
			}
			if samples != len(lists) {
				t.Errorf("message %d: %d samples, %d value lists", i, samples, len(lists))
			}
			for j := range lists {
				v := &lists[j]
				s := state{Path: collectd.Identify(&v.Names).Path, At: v.Time.Seconds()}
				for k := range v.Kinds {
					s.Readings = append(s.Readings, rra.FormatReading(v.Value(k), nil))
				}
				n -= v.Len()
				got[s.Path] = s
				if low := start + int64(round+1)*collectdInterval; s.At < low || s.At > low+collectdInterval {
					t.Errorf("round %d: time %d", round, s.At)
				}
			}
			if n != 0 {
				t.Errorf("message %d: %d values too few", i, n)
			}
		}
		want := make(map[string]state)
		for n := range series {
			s := l.series(n)
			want[s.Path] = s
			if old, ok := before[s.Path]; ok && !slices.Equal(old.Readings, s.Readings) {
				moved++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
		before = got
	}
	if moved < 3*series/3 {
		t.Errorf("%d of %d readings moved", moved, 3*series)
	}
}

// TestRows: the rows that a store has after rounds of the load are those that package rra
// makes of the same readings, bit for bit.
func TestRows(t *testing.T) {
	const start, rounds = 1_700_000_000, 200
	store := enginetest.Open(t)
	r, err := collectd.Protocol.New(receivers.Config{Address: "127.0.0.1:0"}, sink.New(store, sink.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	l := newCollectdLoad(7, 100, start).(*collectdLoad)
	d, err := newDrive(subjects["collectd"], l, &inside{r, store}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }() // nothing waits in it
	machines := make(map[string]*model)
	_, series, _ := d.size()
	for range rounds {
		if _, err := d.round(ctx); err != nil {
			t.Fatal(err)
		}
		for n := range series {
			s := d.series(n)
			if machines[s.Path] == nil {
				machines[s.Path] = newModel(t, store, s)
			}
			var values []rra.Value
			for _, c := range l.cells[l.first[n]:l.first[n+1]] {
				values = append(values, c.reading(c.kind))
			}
			machines[s.Path].step(t, s.At, values)
		}
	}
	known := 0
	for path, m := range machines {
		known += m.compare(t, store, path)
	}
	if least := 3 * series * rounds; known < least {
		t.Errorf("%d rows compared, want %d or more", known, least)
	}
}

// inside is a receiver of this process as a target.
type inside struct {
	r receivers.Receiver
	s *core.Store
}

func (i *inside) addr() string { return i.r.Addr().String() }
func (i *inside) prompt() bool { return true }

func (i *inside) look(context.Context) (progress, error) {
	r := i.r.Stats()
	return progress{at: time.Now(), read: r.Packets, lost: r.KernelDropped, taken: r.Samples, stored: i.s.Stats().SamplesAccepted}, nil
}

func (i *inside) mark(ctx context.Context, _ bool) (progress, error) { return i.look(ctx) }

// A model is one series in package rra, with the rows of each archive by their ends.
type model struct {
	*rra.Series
	rows []map[int64][]float64
}

func newModel(t *testing.T, store *core.Store, s state) *model {
	t.Helper()
	m, err := rra.Compile(infoOf(t, store, s.Path).Definition)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]map[int64][]float64, len(m.Definition().Archives))
	for i := range rows {
		rows[i] = make(map[int64][]float64)
	}
	return &model{rra.NewSeries(m, "", rra.Seconds(s.At-m.Definition().Step)), rows}
}

func infoOf(t *testing.T, store *core.Store, path string) core.Info {
	t.Helper()
	ref, err := store.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.Info(ref)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (m *model) step(t *testing.T, at int64, values []rra.Value) {
	t.Helper()
	rows, err := m.Update(rra.Seconds(at), values)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		m.rows[r.Archive][r.End.Unix()] = r.Values
	}
}

// compare fails if a row of a series differs from the row in m. It returns how many known rows it
// has compared.
func (m *model) compare(t *testing.T, store *core.Store, path string) (known int) {
	t.Helper()
	info := infoOf(t, store, path)
	for i, a := range info.Definition.Archives {
		width := a.PDPs * info.Definition.Step
		end := m.LastUpdate().Unix() / width * width
		got, err := store.Fetch(t.Context(), info.Ref, i, end-a.Rows*width, end)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range got.Values {
			row, ds := k/len(got.DS), k%len(got.DS)
			want := math.NaN()
			if r := m.rows[i][got.Start+int64(row+1)*got.Step]; r != nil {
				want = r[ds]
			}
			if math.Float64bits(v) != math.Float64bits(want) && !(v != v && want != want) {
				t.Fatalf("%s: archive %d, row %d, data source %d is %v, want %v", path, i, row, ds, v, want)
			}
			if v == v {
				known++
			}
		}
	}
	return known
}

// TestFind: the search ends between the highest rate that is received and the lowest that is not.
func TestFind(t *testing.T) {
	for _, limit := range []float64{2345, 1.5e6, 2e6, 7.7e6} {
		run := func(_ context.Context, c Config) (Measured, error) {
			m := Measured{Rate: c.Rate, SentPerSecond: c.Rate}
			if c.Rate > limit {
				m.Loss = 0.01
			}
			return m, nil
		}
		steps := 0
		m, err := find(t.Context(), Config{Rate: 2e6}, "x", run, func(string) { steps++ })
		if err != nil || m.Rate > limit || m.Rate < limit/near || steps > 40 {
			t.Errorf("limit %v: %v, %v after %d steps", limit, m.Rate, err, steps)
		}
	}
	run := func(context.Context, Config) (Measured, error) { return Measured{Loss: 1}, nil }
	if _, err := find(t.Context(), Config{Rate: 2e6}, "x", run, func(string) {}); err == nil {
		t.Error("nothing is received, and that is no error")
	}
	run = func(_ context.Context, c Config) (Measured, error) {
		return Measured{Rate: c.Rate, SentPerSecond: min(c.Rate, 5e6)}, nil
	}
	if m, err := find(t.Context(), Config{Rate: 2e6}, "x", run, func(string) {}); err != nil || m.SentPerSecond != 5e6 {
		t.Errorf("a slow sender: %v, %v", m, err)
	}
}

// valueLists is a collectd.Handler that keeps the value lists.
type valueLists []collectd.ValueList

func (l *valueLists) List(v *collectd.ValueList)  { *l = append(*l, v.Clone()) }
func (l *valueLists) Note(*collectd.Notification) {}
func (l *valueLists) Drop(receivers.Reason)       {}
