//go:build !race

package cluster

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
)

// TestSpoolKeepsWhatComesOverUDP sends datagrams to one node of three while another one is killed
// and the third is stopped, so that some partitions have neither leader nor replica. The node that
// gets them is killed, too, and started again. When the others are back, each series has each of
// its samples once: some are of kind ABSOLUTE, which count twice if they are stored twice.
func TestSpoolKeepsWhatComesOverUDP(t *testing.T) {
	t.Parallel() // most of it is waiting
	nats := threeServers(t)
	dir := t.TempDir()
	start := func(name string) *rondotest.Daemon {
		return rondotest.Serve(t, filepath.Join(dir, name), "--node", name, "--cluster", nats.URLs(), "--cluster-monitor", strings.Join(nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "6", "--cluster-log", "64M", "--collectd", "127.0.0.1:0", "--gmetric", "127.0.0.1:0", "--spool", "64M")
	}
	a, b, c := start("a"), start("b"), start("c")
	for _, d := range []*rondotest.Daemon{a, b, c} { // the replicas spread first
		until(t, d, "it leads partitions and all have leaders", func() bool {
			m := metricsOf(t, d)
			return metricOf(t, m, "rondo_cluster_leads") >= 1 && metricOf(t, m, "rondo_cluster_replicas") >= 4 && metricOf(t, m, "rondo_cluster_partitions_without_leader") == 0
		})
	}

	s := &udpSender{t: t}
	s.send(a, 3)
	// What is sent before is stored before: nothing of it is only in a's memory.
	s.await(a)

	b.Kill(t)
	if err := c.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.send(a, 10)
	s.hosts *= 2 // new series
	s.send(a, 10)
	settled(t, a)
	m := metricsOf(t, a)
	if metricOf(t, m, "rondo_cluster_spool_bytes") == 0 || metricOf(t, m, "rondo_cluster_spool_partitions") == 0 {
		t.Errorf("nothing waits:\n%s", grepLines(m, "rondo_cluster_"))
	}
	t.Logf("%s", grepLines(m, "rondo_cluster_spool"))
	if drops := lossesIn(m); drops != "" {
		t.Errorf("samples were lost:\n%s", drops)
	}
	if log := a.Log.String(); !strings.Contains(log, "a partition has no leader: samples are spooled") {
		t.Errorf("the log does not tell:\n%s", log)
	}

	a.Kill(t)
	a = start("a")
	s.send(a, 5)
	settled(t, a)
	if m := metricsOf(t, a); metricOf(t, m, "rondo_cluster_spool_bytes") == 0 || lossesIn(m) != "" {
		t.Errorf("after the start:\n%s%s", grepLines(m, "rondo_cluster_spool"), lossesIn(m))
	}

	if err := c.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b = start("b")
	s.send(a, 3)
	until(t, a, "the spool is empty", func() bool { return metricOf(t, metricsOf(t, a), "rondo_cluster_spool_bytes") == 0 })
	for _, d := range []*rondotest.Daemon{a, b} {
		s.await(d)
	}
	m = metricsOf(t, a)
	t.Logf("%s", grepLines(m, "rondo_cluster_spool"))
	if drops := lossesIn(m); drops != "" {
		t.Errorf("samples were lost:\n%s", drops)
	}
	for _, d := range []*rondotest.Daemon{c, b, a} {
		d.Stop(t)
	}
}

// A udpSender sends one reading of each series in each round.
type udpSender struct {
	t      *testing.T
	hosts  int   // that send by collectd's protocol
	joined []int // by host: the round before its first
	rounds int
}

const (
	udpBegin = 1_700_000_000
	udpStep  = 10
)

// send sends rounds to a node.
func (s *udpSender) send(d *rondotest.Daemon, rounds int) {
	s.t.Helper()
	if s.hosts == 0 {
		s.hosts = 8
	}
	to := dialUDP(s.t, d.Listens["collectd"])
	metrics := dialUDP(s.t, d.Listens["gmetric"])
	for range rounds {
		s.rounds++
		for h := range s.hosts {
			if h == len(s.joined) {
				s.joined = append(s.joined, s.rounds-1)
			}
			var e collectd.Encoder
			for _, v := range s.lists(h) {
				if !e.Add(&v) {
					s.t.Fatal("no room in a packet")
				}
			}
			if _, err := to.Write(e.Bytes()); err != nil {
				s.t.Fatal(err)
			}
		}
		value := gmetric.Message{Word: gmetric.WordGmetric, Type: []byte("double"), Name: []byte("round"), Text: []byte(strconv.Itoa(s.rounds)), TMax: 60}
		packet, err := value.AppendBinary(nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := metrics.Write(packet); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // senders have a rhythm
	}
}

func dialUDP(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing is lost with it
	return conn
}

// lists returns the readings of a host in the round that is sent.
func (s *udpSender) lists(h int) []collectd.ValueList {
	list := func(typ, kind string, raw []byte) collectd.ValueList {
		k, err := collectd.ParseKind(kind)
		if err != nil {
			s.t.Fatal(err)
		}
		return collectd.ValueList{
			Names: collectd.Names{Host: fmt.Appendf(nil, "h%d", h), Plugin: []byte("p"), Type: []byte(typ)}, Kinds: []byte{k}, Raw: raw,
			Time: collectd.Stamp(udpBegin+udpStep*s.rounds) << 30, Interval: udpStep << 30,
		}
	}
	return []collectd.ValueList{
		list("gauge", "gauge", binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(s.rounds)))),
		list("absolute", "absolute", binary.BigEndian.AppendUint64(nil, uint64(100*s.rounds))),
	}
}

// await waits until a node answers with each sample once.
func (s *udpSender) await(d *rondotest.Daemon) {
	s.t.Helper()
	missing := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if missing = s.complete(d); missing == "" {
			return
		}
	}
	s.t.Fatalf("not within two minutes: %s\n%s", missing, grepLines(metricsOf(s.t, d), "rondo_cluster_spool"))
}

// complete returns what of a node's answers is not what was sent, or nothing.
func (s *udpSender) complete(d *rondotest.Daemon) string {
	s.t.Helper()
	for h, joined := range s.joined {
		for _, typ := range []string{"gauge", "absolute"} {
			path := fmt.Sprintf("collectd/h%d/p/%s", h, typ)
			out, err := exec.Command("rondo", "fetch", "--daemon", d.URL, path, "AVERAGE", "-r", "10", "--start", fmt.Sprint(udpBegin), "--end", fmt.Sprint(udpBegin+udpStep*s.rounds)).CombinedOutput()
			if err != nil {
				return fmt.Sprintf("%s: %v: %s", path, err, out)
			}
			for round := joined + 2; round <= s.rounds; round++ { // the first one may be cut by the start of the series
				want := float64(round)
				if typ == "absolute" {
					want = float64(100*round) / udpStep
				}
				if line := fmt.Sprintf("%d: %.10e", udpBegin+udpStep*round, want); !strings.Contains(string(out), line) {
					return fmt.Sprintf("%s has no %q:\n%s", path, line, out)
				}
			}
		}
	}
	return s.lastRound(d)
}

// lastRound says whether the series of gmetric has a reading of one of the last rounds. Only the
// first reading in a second is taken.
func (s *udpSender) lastRound(d *rondotest.Daemon) string {
	const path = "ganglia/127.0.0.1/round"
	out, err := exec.Command("rondo", "lastupdate", "--daemon", d.URL, path).CombinedOutput()
	if err != nil {
		return string(out)
	}
	_, value, _ := strings.Cut(strings.TrimSpace(string(out)), ": ")
	if round, err := strconv.Atoi(value); err != nil || round < s.rounds-5 {
		return fmt.Sprintf("%s: %s", path, out)
	}
	return ""
}

// settled waits until what a node has got is stored or in its spool: the figures stay as they are
// for longer than a leader may take.
func settled(t *testing.T, d *rondotest.Daemon) {
	t.Helper()
	was, since := "", time.Now()
	until(t, d, "what it got is stored or waits", func() bool {
		m := metricsOf(t, d)
		if now := grepLines(m, "rondo_cluster_spool_samples_total") + grepLines(m, `rondo_receiver_samples_total`); now != was {
			was, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
}

// until waits until ok returns true.
func until(t *testing.T, d *rondotest.Daemon, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			m := metricsOf(t, d)
			_ = d.Cmd.Process.Kill() // its log says why
			<-d.Done
			t.Fatalf("not within two minutes: %s\n%s\n%s", what, grepLines(m, "rondo_cluster_"), d.Log.String())
		}
	}
}

// lossesIn returns the figures of losses that are not 0.
func lossesIn(metrics string) (found string) {
	for line := range strings.Lines(metrics) {
		lossy := strings.HasPrefix(line, "rondo_cluster_spool_dropped_total") || strings.HasPrefix(line, "rondo_receiver_dropped_total")
		if lossy && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, `reason="late"`) {
			found += line
		}
	}
	return found
}

func grepLines(text, prefix string) (found string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			found += line
		}
	}
	return found
}

// metricOf returns a metric without labels.
func metricOf(t *testing.T, metrics, name string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(metrics, "\n"+name+" ")
	if !ok {
		t.Fatalf("there is no metric %s", name)
	}
	value, _, _ := strings.Cut(rest, "\n")
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
