package receivebench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// Run measures rondo's receiver, and the peer's if there is one. With an error it returns what it
// has measured.
func Run(ctx context.Context, c Config) (r Result, err error) {
	if err := c.validate(); err != nil {
		return r, err
	}
	r.Protocol, r.Rate = c.Protocol, c.Rate
	if r.Rondo, err = runChild(ctx, c); err != nil {
		return r, err
	}
	if c.Peer != "" {
		var m Measured
		if m, err = runPeer(ctx, c); m.Values > 0 {
			r.Peer, r.PeerName = &m, c.peerName()
		}
	}
	return r, err
}

// runChild measures rondo's receiver.
func runChild(ctx context.Context, c Config) (m Measured, err error) {
	l, start, err := c.newLoad()
	if err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(c.Dir, "rondo-receive-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := order{Protocol: c.Protocol, Options: maps.Clone(c.Options), Dir: dir, Profile: c.Profile}
	s := subjects[c.Protocol]
	_, series, values := l.size()
	if s.untimed {
		o.Epoch, o.Speed = start, c.Rate/float64(values)*float64(s.interval)
	}
	if s.conns != "" && o.Options[s.conns] == nil {
		if o.Options == nil {
			o.Options = make(map[string][]string)
		}
		o.Options[s.conns] = []string{strconv.Itoa(series/hostSeries + 1)}
	}
	t, err := startChild(ctx, c, o)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	d, err := newDrive(s, l, t, c.Segments)
	if err != nil {
		return m, err
	}
	defer func() { _ = d.close() }() // nothing waits in it
	if s.untimed {
		d.pause = time.Duration(2 / o.Speed * float64(time.Second))
	}
	if m, err = d.measure(ctx, c.Rate, c.Length); err != nil {
		return m, err
	}
	if err := d.completeRound(ctx); err != nil {
		return m, err
	}
	m.ofChild()
	return m, t.verify(ctx, l, c.Verify, &m)
}

// completeRound sends the rest of a round, and another: after it every series has its last reading,
// whatever was lost.
func (d *drive) completeRound(ctx context.Context) error {
	if d.next > 0 {
		if _, err := d.round(ctx); err != nil {
			return err
		}
	}
	p, err := d.round(ctx)
	if _, ok := d.wire.(streams); !ok && err == nil && p.read+p.lost < d.sent {
		err = fmt.Errorf("bench: %d packets sent, %d read and %d lost: some are not accounted for", d.sent, p.read, p.lost)
	}
	return err
}

// A childTarget is a child process that receives.
type childTarget struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	in      io.WriteCloser
	enc     *json.Encoder
	dec     *json.Decoder
	address string
	port    int
}

func startChild(ctx context.Context, c Config, o order) (*childTarget, error) {
	arg, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	t := &childTarget{cmd: c.Exec(ctx, string(arg))}
	t.cmd.Stderr = &t.stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.enc, t.dec = json.NewEncoder(t.in), json.NewDecoder(out)
	var a answer
	if err = t.dec.Decode(&a); err == nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(a.Address)
		t.address, t.port = a.Address, int(at.Port())
	}
	if err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// stop ends the child and waits for it.
func (t *childTarget) stop() error {
	_ = t.in.Close() // Wait returns the error
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("bench: receiver: %w: %s", err, bytes.TrimSpace(t.stderr.Bytes()))
	}
	return nil
}

func (t *childTarget) addr() string { return t.address }

func (t *childTarget) prompt() bool { return true }

func (t *childTarget) ask(q request) (a answer, err error) {
	if err := t.enc.Encode(q); err != nil {
		return a, fmt.Errorf("bench: ask the receiver: %w", err)
	}
	if err := t.dec.Decode(&a); err != nil {
		return a, fmt.Errorf("bench: answer of the receiver: %w", err)
	}
	if a.Err != "" {
		return a, fmt.Errorf("bench: receiver: %s", a.Err)
	}
	return a, nil
}

func (t *childTarget) look(ctx context.Context) (progress, error) {
	return t.progress(ctx, "look")
}

func (t *childTarget) mark(ctx context.Context, end bool) (progress, error) {
	if end {
		return t.progress(ctx, "end")
	}
	return t.progress(ctx, "begin")
}

func (t *childTarget) progress(ctx context.Context, do string) (progress, error) {
	a, err := t.ask(request{Do: do})
	if err != nil {
		return progress{}, err
	}
	s := a.Snapshot
	p := progress{at: time.Now(), read: s.Receiver.Packets, user: s.User, system: s.System, snapshot: s}
	r := &s.Receiver
	p.taken = r.Samples - min(refused(*r), r.Samples)
	p.stored, p.values = s.Store.SamplesAccepted, r.Values
	if p.stored != r.Samples { // by the samples: most have one value
		p.values = uint64(math.Round(float64(r.Values) * ratio(float64(p.stored), float64(r.Samples))))
	}
	// The receiver hears of a loss with the next packet that comes through; the kernel's table has
	// it at once.
	if p.lost, err = socketDrops(t.port); err != nil {
		p.lost = s.Receiver.KernelDropped
	}
	return p, ctx.Err()
}

// refused is how many of a receiver's samples the store did not take.
func refused(s receivers.Stats) uint64 {
	return s.Dropped[receivers.Late] + s.Dropped[receivers.State] + s.Dropped[receivers.Failed]
}

// verify compares n series, spread over all, with what was sent.
func (t *childTarget) verify(ctx context.Context, l load, n int, m *Measured) error {
	_, series, _ := l.size()
	n = min(n, series)
	var q request
	for i := range n {
		q.States = append(q.States, l.series(i*series/n))
	}
	q.Do = "verify"
	a, err := t.ask(q)
	if err != nil {
		return err
	}
	if len(a.Wrong) > 0 {
		return fmt.Errorf("bench: %d of %d series are not what was sent: %s", len(a.Wrong), n, strings.Join(a.Wrong[:min(3, len(a.Wrong))], "; "))
	}
	m.Verified = n
	p, err := t.look(ctx)
	if err != nil {
		return err
	}
	if counted := p.snapshot.Receiver.KernelDropped; counted != p.lost {
		return fmt.Errorf("bench: the receiver counts %d packets lost, the kernel %d", counted, p.lost)
	}
	return nil
}
