package receivebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"text/template"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
)

// The peer is a collectd whose network plugin listens. Its write side is the same plugin, which
// sends collectd's own statistics and passes over received values. A collectd that receives cannot
// do less than that with the values. The statistics say how many value lists went
// through.

// peerConf is collectd's configuration.
var peerConf = template.Must(template.New("collectd.conf").Parse(`Hostname "peer"
FQDNLookup false
BaseDir "{{.Dir}}"
PIDFile "{{.Dir}}/pid"
Interval 0.1
CollectInternalStats true
LoadPlugin logfile
<Plugin logfile>
	LogLevel warning
	File "{{.Dir}}/log"
</Plugin>
LoadPlugin network
<Plugin network>
	<Listen "127.0.0.1" "{{.Port}}">
	</Listen>
	<Server "127.0.0.1" "{{.Statistics}}">
	</Server>
	MaxPacketSize 1452
	ReportStats true
</Plugin>
{{if .Stores}}LoadPlugin rrdtool
<Plugin rrdtool>
	DataDir "{{.Dir}}/rrd"
</Plugin>
{{end}}`))

// runPeer measures the peer.
func runPeer(ctx context.Context, c Config) (m Measured, err error) {
	l, _, err := c.newLoad()
	if err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(c.Dir, "rondo-peer-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t, err := startPeer(ctx, c, dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	d, err := newDrive(subjects[c.Protocol], l, t, c.Segments)
	if err != nil {
		return m, err
	}
	defer func() { _ = d.close() }() // nothing waits in it
	d.most = peerDrain
	m, err = d.measure(ctx, c.Rate, c.Length)
	m.PeakRSS = processPeak(t.cmd.Process.Pid)
	return m, err
}

// A peerTarget is a running collectd.
type peerTarget struct {
	cmd       *exec.Cmd
	dir       string
	udp       *net.UDPAddr
	cancel    context.CancelFunc
	listening sync.WaitGroup
	ended     chan struct{} // closed when the process has
	err       error         // of the process, once ended is closed

	statistics chan statistics // the newest not yet looked at
	last       statistics
	changed    collectd.Stamp // when last.passed did
}

// statistics are what collectd reports about itself, in one reading.
type statistics struct {
	at       collectd.Stamp // of the oldest of them
	packets  uint64         // read
	accepted uint64         // lists put into the queue of the write threads
	passed   uint64         // lists that the write side was given
}

const (
	peerStart = 30 * time.Second // how long collectd may say nothing
	peerDrain = 30 * time.Second // how long it may work on what it was sent
	peerStop  = 20 * time.Second // and to end
)

func startPeer(ctx context.Context, c Config, dir string) (_ *peerTarget, err error) {
	t := &peerTarget{dir: dir, ended: make(chan struct{}), statistics: make(chan statistics, 1)}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, t.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends listen
	t.listening.Go(func() { t.listen(conn) })
	defer func() {
		if err != nil {
			stop()
			t.cancel()
			_ = conn.Close() // perhaps once more
			t.listening.Wait()
		}
	}()
	if t.udp, err = freePort(); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "collectd.conf")
	f, err := os.Create(conf)
	if err != nil {
		return nil, err
	}
	err = peerConf.Execute(f, map[string]any{
		"Dir": dir, "Port": t.udp.Port, "Statistics": conn.LocalAddr().(*net.UDPAddr).Port, "Stores": c.PeerStores,
	})
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	t.cmd = exec.CommandContext(ctx, c.Peer, "-f", "-C", conf)
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		t.err = t.cmd.Wait()
		close(t.ended)
	}()
	if _, err := t.look(ctx); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// freePort returns an address that nobody listens at.
func freePort() (*net.UDPAddr, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return conn.LocalAddr().(*net.UDPAddr), conn.Close()
}

// stop ends collectd and waits for it. With millions of values in its queue collectd does not end
// by itself soon.
func (t *peerTarget) stop() error {
	_ = t.cmd.Process.Signal(syscall.SIGTERM) // ended returns the error
	killed := false
	select {
	case <-t.ended:
	case <-time.After(peerStop):
		_ = t.cmd.Process.Kill() // as above
		<-t.ended
		killed = true
	}
	t.cancel()
	t.listening.Wait()
	if t.err != nil && !killed {
		return t.failure(t.err)
	}
	return nil
}

// failure adds what collectd has logged.
func (t *peerTarget) failure(err error) error {
	log, _ := os.ReadFile(filepath.Join(t.dir, "log")) // for the message only
	return fmt.Errorf("bench: collectd: %w\n%s", err, log[max(0, len(log)-2000):])
}

// listen takes collectd's statistics until conn is closed.
func (t *peerTarget) listen(conn net.PacketConn) {
	var d collectd.Decoder
	var p partial
	b := make([]byte, sockets.MaxDatagram)
	for {
		n, _, err := conn.ReadFrom(b)
		if err != nil {
			return
		}
		_ = d.Decode(b[:n], &p) // what does not decode is missed, and look says so
		if !p.complete() {
			continue
		}
		select {
		case <-t.statistics:
		default:
		}
		t.statistics <- p.statistics
		p = partial{}
	}
}

// partial gathers statistics.
type partial struct {
	statistics
	packetsAt, acceptedAt, passedAt collectd.Stamp
}

func (p *partial) complete() bool {
	p.at = min(p.packetsAt, p.acceptedAt, p.passedAt)
	return p.at > 0
}

// List takes one value list: see collectd.Handler.
func (p *partial) List(v *collectd.ValueList) {
	if string(v.Plugin) != "network" {
		return
	}
	switch string(v.Type) + " " + string(v.TypeInstance) {
	case "if_packets ":
		p.packets, p.packetsAt = v.Value(0).Bits, v.Time
	case "total_values dispatch-accepted":
		p.accepted, p.acceptedAt = v.Value(0).Bits, v.Time
	case "total_values send-rejected":
		p.passed, p.passedAt = v.Value(0).Bits, v.Time
	}
}

// Note does nothing: see collectd.Handler.
func (p *partial) Note(*collectd.Notification) {}

// Drop does nothing: see collectd.Handler.
func (p *partial) Drop(receivers.Reason) {}

func (t *peerTarget) addr() string { return t.udp.String() }

func (t *peerTarget) prompt() bool { return false }

// look waits for the next statistics.
func (t *peerTarget) look(ctx context.Context) (p progress, err error) {
	select {
	case s := <-t.statistics:
		if s.passed != t.last.passed {
			t.changed = s.at
		}
		t.last = s
	case <-t.ended:
		return p, t.failure(errPeerEnded)
	case <-time.After(peerStart):
		return p, t.failure(errPeerSilent)
	case <-ctx.Done():
		return p, ctx.Err()
	}
	return t.progress()
}

// mark returns what the last look has seen.
func (t *peerTarget) mark(context.Context, bool) (progress, error) { return t.progress() }

func (t *peerTarget) progress() (p progress, err error) {
	p = progress{at: t.changed.Time().Std(), read: t.last.packets, taken: t.last.accepted, stored: t.last.passed}
	if p.lost, err = socketDrops(t.udp.Port); err != nil {
		return p, err
	}
	p.user, p.system, err = ProcessTimes(t.cmd.Process.Pid)
	return p, err
}

var (
	errPeerEnded  = errors.New("it has ended")
	errPeerSilent = errors.New("it says nothing about itself")
)

// peerName says what the peer is.
func (c *Config) peerName() string {
	if c.PeerStores {
		return "collectd with its rrdtool plugin"
	}
	return "collectd that keeps nothing"
}

// FindPeer returns the path of the program that a protocol comes from.
func FindPeer(protocol string) (string, error) {
	if protocol != "collectd" {
		return "", fmt.Errorf("there is no program to compare the receiver of %s with", protocol)
	}
	for _, name := range []string{"collectd", "/usr/sbin/collectd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("collectd is not installed")
}
