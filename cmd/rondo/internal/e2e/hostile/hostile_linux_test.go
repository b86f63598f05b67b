package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers"
)

// A victim is a receiver under attack.
type victim struct {
	name string // of the protocol
	port bool   // it is no receiver
	path string // matches the series of its good sender
	// flags are the server's flags beside the address.
	flags []string
	// seeds are the messages that attackers damage.
	seeds   func(t *testing.T) [][]byte
	attacks []func(*attack, context.Context) error
	// hoard returns a stream that makes the receiver keep as much as it may; nil: the protocol has
	// no streams.
	hoard func() []byte
	// fresh returns message i of a sender whose every message makes another series; nil: the
	// victim has no such sender.
	fresh func(i int) []byte
	// flood is the prefix of the paths that one sender makes, who may make a few series; empty: the
	// victim has no such sender.
	flood string
	// good connects a sender whose values must all be stored.
	good func(t *testing.T, addr string) goodSender
	// reasons are why something must have been dropped.
	reasons []receivers.Reason
}

// A goodSender sends the values 1, 2, 3, … of each of its series, as a sender of its own.
type goodSender interface {
	// send sends the value n of each series, and returns in how many messages.
	send(n int) (messages int, err error)
	paths() []string
}

const (
	goodSeries              = 25                      // of a good sender
	goodPause               = 1100 * time.Millisecond // between two values of a series: some receivers keep whole seconds
	goodPatience            = time.Minute             // of a good sender: what counts is that nothing is lost
	mostSeries              = 3000                    // that the server may have
	senderBurst, senderRate = 500, 60                 // that one sender may make
	shortRun                = 2400 * time.Millisecond
	longRun                 = 30 * time.Second // from which on a run shows something of memory
)

const lostInSocket = "rondo_receiver_kernel_dropped_total"

// TestHostile runs the server while every receiver gets damaged messages as fast as it reads them,
// and looks whether what good senders send meanwhile is stored, and whether the server stays as it
// was. RONDO_HOSTILE says for how long.
func TestHostile(t *testing.T) {
	d := shortRun
	if s := os.Getenv("RONDO_HOSTILE"); s != "" {
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	newHostility(t).run(d)
}

// A hostility is one run.
type hostility struct {
	t       *testing.T
	server  *rondotest.Daemon
	began   time.Time
	victims []*victimised
}

// A victimised is a victim, and who sends to it.
type victimised struct {
	victim
	addr    string
	sender  goodSender
	value   int    // that it sent last
	good    uint64 // messages of it
	lost    int    // its values that were lost in the socket
	attacks []*attack
}

func newHostility(t *testing.T) *hostility {
	t.Helper()
	h := &hostility{t: t, began: time.Now()}
	var rules strings.Builder
	rules.WriteString("policy:\n")
	args := []string{
		"--max-series", strconv.Itoa(mostSeries), "--sender-burst", strconv.Itoa(senderBurst),
		"--sender-rate", strconv.Itoa(senderRate), "--memory", "256M",
	}
	for _, p := range serve.Protocols {
		i := slices.IndexFunc(victims, func(v victim) bool { return v.name == p.Name })
		if i < 0 && p.Network == "http" {
			continue // it is attacked by the tests of the HTTP port and of its own package
		}
		if i < 0 {
			t.Errorf("nobody attacks the receiver %s", p.Name)
			continue
		}
		v := &victimised{victim: victims[i], addr: "127.0.0.1:0"}
		if p.Network == "dir" {
			v.addr = t.TempDir()
		}
		rules.WriteString(v.rule())
		args = append(append(args, "--"+v.name, v.addr), v.flags...)
		if slices.Contains(p.Sockets(), "tcp") && len(p.Shares) == 0 {
			args = append(args, "--"+v.name+"-connections", strconv.Itoa(mostConns), "--"+v.name+"-host-connections", strconv.Itoa(hostConns))
		}
		h.victims = append(h.victims, v)
	}
	port := &victimised{victim: rrdcachedVictim, addr: "127.0.0.1:0"}
	rules.WriteString(port.rule())
	args = append(append(args, "--"+port.name, port.addr), port.flags...)
	h.victims = append(h.victims, port)
	args = append(args, "--config", writeConfig(t, rules.String()))
	h.server = rondotest.Serve(t, filepath.Join(t.TempDir(), "db"), args...)
	seed := seedtest.One(t)
	for _, v := range h.victims {
		if l := h.server.Listens[v.name]; l != "" {
			v.addr = l
		}
		v.sender = v.victim.good(t, v.addr)
		messages := v.seeds(t)
		var hoard []byte
		if v.hoard != nil {
			hoard = v.hoard()
		}
		for i := range v.victim.attacks {
			m := newMutator(seed+uint64(i), messages, maxDatagram)
			if m.fresh, m.freshly = v.fresh, 16; networkOf(v.name) != "udp" {
				m.freshly = 3
			}
			v.attacks = append(v.attacks, &attack{addr: v.addr, mutator: m, hoarded: hoard})
		}
	}
	return h
}

// rule returns the rule of the policy for the series of the good sender.
func (v *victim) rule() string {
	return fmt.Sprintf("  - {path: %q, step: 1s, heartbeat: 1h, archives: [\"RRA:LAST:0.5:1:3600\"]}\n", v.path)
}

func (h *hostility) run(d time.Duration) {
	t := h.t
	h.round(h.metrics())
	before := h.metrics()

	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var running sync.WaitGroup
	for _, v := range h.victims {
		for i, a := range v.attacks {
			running.Go(func() {
				if err := v.victim.attacks[i](a, ctx); err != nil {
					t.Errorf("%s: attack %d: %v", v.name, i, err)
				}
			})
		}
	}
	samples := make(chan []vitals, 1)
	running.Go(func() { samples <- h.watch(ctx, d/60) })
	for pass(ctx, goodPause) {
		h.round(before)
	}
	running.Wait()
	h.quiet(before)
	pass(t.Context(), goodPause)
	h.round(before)
	after := h.metrics()
	h.judgeCounters(before, after, d)
	h.judgeVitals(<-samples, d)
	h.server.Stop(t)
	if out := rondotest.Run(t, h.server.DB, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}

// pass waits for d, and reports whether ctx has not ended meanwhile.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// round has every good sender send its next value, and waits until all of them are stored. Of a
// receiver of datagrams as many may be missing as were lost in its socket since before.
func (h *hostility) round(before metrics) {
	h.t.Helper()
	for _, v := range h.victims {
		v.value++
		messages, err := v.sender.send(v.value)
		if err != nil {
			h.t.Fatalf("%s: the good sender: %v", v.name, err)
		}
		v.good += uint64(messages)
	}
	var waiting sync.WaitGroup
	for _, v := range h.victims {
		waiting.Go(func() { v.lost += h.unstored(v) })
	}
	waiting.Wait()
	now := h.metrics()
	for _, v := range h.victims {
		lost := now.of(lostInSocket, v.name) - before.of(lostInSocket, v.name)
		if overload := droppedAs(v.name, receivers.Overload); raceEnabled && !v.port {
			lost += now[overload] - before[overload] // the race detector makes a server slow that keeps up without
		}
		if float64(v.lost) > lost {
			h.report(v, now, time.Since(h.began))
			h.server.Kill(h.t)
			lines := slices.DeleteFunc(strings.Split(h.server.Log.String(), "\n"), func(line string) bool {
				return strings.Contains(line, "rrdd: plugin file is not right") // there are hundreds
			})
			h.t.Logf("the server's log ends:\n%s", strings.Join(lines[max(len(lines)-40, 0):], "\n"))
			h.t.Fatalf("%s: %d good values are missing, up to value %d; %v datagrams were lost", v.name, v.lost, v.value, lost)
		}
	}
}

// unstored waits until the last value of all series of a good sender is stored, and returns of how
// many it is not.
func (h *hostility) unstored(v *victimised) int {
	left := v.sender.paths()
	for deadline := time.Now().Add(goodPatience); ; time.Sleep(50 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(path string) bool {
			last, err := h.last(path)
			if err != nil {
				h.t.Errorf("%s: %v", path, err)
			}
			return last == float64(v.value)
		})
		if len(left) == 0 || time.Now().After(deadline) || h.t.Failed() {
			return len(left)
		}
	}
}

// report logs what a receiver says of itself, and returns how many messages attackers have sent it.
func (h *hostility) report(v *victimised, m metrics, d time.Duration) (hostile uint64) {
	h.t.Helper()
	var bytes uint64
	for _, a := range v.attacks {
		hostile += a.sent.Load()
		bytes += a.bytes.Load()
	}
	if v.port {
		h.t.Logf("%s: %d hostile connections (%d MB), %v open, %v refused, %v gave no ear, %v samples", v.name, hostile, bytes>>20,
			m["rondo_rrdcached_connections"], m["rondo_rrdcached_connections_refused_total"], m["rondo_rrdcached_connections_stalled_total"], m["rondo_rrdcached_samples_total"])
		return hostile
	}
	get := func(name string) float64 { return m.of("rondo_receiver_"+name, v.name) }
	h.t.Logf("%s: %d hostile messages (%.0f/s, %d MB), %v read, %v lost in the socket, %v samples, %v series, %v connections", v.name, hostile,
		float64(hostile)/d.Seconds(), bytes>>20, get("packets_total"), get("kernel_dropped_total"), get("samples_total"), get("series"), get("connections"))
	var drops strings.Builder
	for r := range receivers.NumReasons {
		n, ok := m[droppedAs(v.name, r)]
		if !ok {
			h.t.Errorf("%s: /metrics does not say what was dropped as %s", v.name, r)
		}
		fmt.Fprintf(&drops, " %s %v", r, n)
	}
	h.t.Logf("%s: dropped:%s", v.name, drops.String())
	return hostile
}

// linesWith returns the lines of a log that hold part.
func linesWith(log, part string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, part) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func droppedAs(name string, r receivers.Reason) string {
	return fmt.Sprintf(`rondo_receiver_dropped_total{receiver="%s",reason="%s"}`, name, r)
}

// judgeCounters adds up what the server says of itself.
func (h *hostility) judgeCounters(before, after metrics, d time.Duration) {
	h.t.Helper()
	for _, v := range h.victims {
		hostile := h.report(v, after, d)
		if v.port {
			continue
		}
		h.t.Logf("%s: %d good values stored, %d lost in the socket", v.name, v.value*goodSeries-v.lost, v.lost)
		read, lost := after.of("rondo_receiver_packets_total", v.name), after.of(lostInSocket, v.name)
		if networkOf(v.name) == "udp" && read+lost != float64(hostile+v.good) {
			h.t.Errorf("%s: %d datagrams were sent, %v read, %v lost", v.name, hostile+v.good, read, lost)
		}
		dropped := 0.0
		for r := range receivers.NumReasons {
			n := after[droppedAs(v.name, r)]
			if dropped += n; n == 0 && d >= longRun && slices.Contains(v.reasons, r) {
				h.t.Errorf("%s: nothing was dropped as %s", v.name, r)
			}
		}
		if dropped == 0 {
			h.t.Errorf("%s: nothing was dropped", v.name)
		}
		if n := after[droppedAs(v.name, receivers.Failed)]; n > 0 {
			h.t.Errorf("%s: the store refused %v samples; its log says:\n%s", v.name, n, linesWith(h.server.Log.String(), "samples not stored"))
		}
	}
	allowed := senderBurst + senderRate*int(time.Since(h.began)/time.Minute+1)
	for _, v := range h.victims {
		if v.flood == "" {
			continue
		}
		made := strings.Count(rondotest.Run(h.t, h.server.DB, "list"), "\n"+v.flood)
		h.t.Logf("%s: %d series of the sender that makes ever new ones", v.name, made)
		if made > allowed || made == 0 && d >= longRun {
			h.t.Errorf("%s: one sender has made %d series, it may make %d", v.name, made, allowed)
		}
	}
	if n := after["rondo_series"]; n > mostSeries {
		h.t.Errorf("%v series, --max-series is %d", n, mostSeries)
	}
	refused := after[`rondo_series_refused_total{reason="sender_limit"}`] + after[`rondo_series_refused_total{reason="series_limit"}`]
	h.t.Logf("%v series there, %v made, %v refused; %v senders", after["rondo_series"], after["rondo_series_made_total"], refused, after["rondo_senders"])
	if refused == 0 {
		h.t.Error("no series was refused: the limits tell nothing")
	}
	if a, b := after["rondo_samples_accepted_total"], before["rondo_samples_accepted_total"]; a <= b {
		h.t.Errorf("no sample was accepted: %v, before %v", a, b)
	}
	if n := after["rondo_log_failures_total"]; n > 0 {
		h.t.Errorf("%v writes of the log have failed", n)
	}
}

func networkOf(name string) string {
	if name == serve.RRDCachedFlag {
		return "tcp"
	}
	return serve.Protocols[slices.IndexFunc(serve.Protocols, func(p receivers.Protocol) bool { return p.Name == name })].Network
}
