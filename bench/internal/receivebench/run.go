package receivebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
)

// A Config says what is sent to whom.
type Config struct {
	Protocol string              // collectd
	Options  map[string][]string // of the receiver, as receivers.Config has them
	Series   int                 // rounded up to whole hosts
	Rate     float64             // values a second
	Length   time.Duration       // how long values are sent at that rate
	Seed     uint64
	Dir      string // an empty folder for stores; removed are only those made in it
	Verify   int    // series compared with what was sent
	Segments bool   // have the system cut datagrams from long ones
	Profile  string // file for a CPU profile of the receiver while it is sent to; empty: none

	// Peer is the program that Protocol comes from, to be measured too: a path; empty: none.
	Peer string
	// PeerStores has the peer keep what it receives, with its rrdtool plugin; else it keeps
	// nothing.
	PeerStores bool

	// Exec returns the command that runs Child(ctx, arg, stdin, stdout).
	Exec func(ctx context.Context, arg string) *exec.Cmd
}

func (c *Config) validate() error {
	switch {
	case c.Series < 1:
		return fmt.Errorf("bench: %d series, must be at least 1", c.Series)
	case !(c.Rate >= 1 && c.Rate <= 1e9):
		return fmt.Errorf("bench: rate of %v values a second, must be 1 to 1e9", c.Rate)
	case c.Length < 10*time.Millisecond || c.Length > time.Hour:
		return fmt.Errorf("bench: length of %v, must be 10ms to 1h", c.Length)
	}
	_, err := subjectOf(c.Protocol)
	return err
}

// newLoad returns a load, whose clock ends now if everything goes as it should, and the second it
// begins at.
func (c *Config) newLoad() (load, int64, error) {
	s, err := subjectOf(c.Protocol)
	if err != nil {
		return nil, 0, err
	}
	_, _, values := s.load(c.Seed, c.Series, 0).size()
	rounds := int64(math.Ceil(c.Rate*c.Length.Seconds()/float64(values))) + sparedRounds
	start := time.Now().Unix() - rounds*s.interval
	if start < minStart {
		return nil, 0, fmt.Errorf("bench: %d readings of each series, %d s apart, reach back before 1980: more series, please", rounds, s.interval)
	}
	return s.load(c.Seed, c.Series, start), start, nil
}

const (
	sparedRounds = 10          // before and after those that are measured
	minStart     = 315_532_800 // 1980, which is as far back as rrdtool's times go
)

// A target is what is sent to.
type target interface {
	// addr is where it listens.
	addr() string
	// look returns what it has done.
	look(ctx context.Context) (progress, error)
	// mark is look at the beginning and the end of what is measured.
	mark(ctx context.Context, end bool) (progress, error)
	// prompt reports whether look returns what is true now, and not some time ago.
	prompt() bool
}

// A drive is a load on its way to a target.
type drive struct {
	load
	target
	wire
	sent      uint64  // messages
	next      int     // message of the round
	samples   uint64  // sent
	values    uint64  // sent
	perPacket float64 // values
	// between rounds that are not paced: two seconds of a clock that goes too fast
	pause time.Duration
	// most is how long drain waits, and gives up what is on its way then; 0: five minutes, after
	// which drain returns an error.
	most   time.Duration
	gaveUp bool
}

// newDrive connects a load to a target of subject s.
func newDrive(s subject, l load, t target, segments bool) (*drive, error) {
	messages, series, values := l.size()
	w, err := openWire(s, t.addr(), series/hostSeries, segments)
	return &drive{load: l, target: t, wire: w, perPacket: float64(values) / float64(messages)}, err
}

// one sends the next message of the round.
func (d *drive) one() error {
	i := d.next
	b, samples, values := d.step(i)
	if d.next++; d.next == d.messages() {
		d.next = 0
	}
	d.sent++
	d.samples += uint64(samples)
	d.values += uint64(values)
	return d.add(i, b)
}

func (d *drive) messages() int {
	n, _, _ := d.size()
	return n
}

const (
	unhurried = 100_000 // values a second that any target takes
	unread    = 256     // messages that may be unread meanwhile
	lookWait  = time.Millisecond
)

// round sends one round, or what is left of one, so that nothing is lost, and waits until it is
// through.
func (d *drive) round(ctx context.Context) (progress, error) {
	if err := pauseFor(ctx, d.pause); err != nil {
		return progress{}, err
	}
	for more := true; more; {
		for n := 0; n < unread && more; n++ {
			if err := d.one(); err != nil {
				return progress{}, err
			}
			more = d.next > 0
		}
		if err := d.read(ctx); err != nil {
			return progress{}, err
		}
	}
	return d.drain(ctx)
}

// gently sends messages so that none is lost.
func (d *drive) gently(ctx context.Context, messages [][]byte) error {
	for i, b := range messages {
		if err := d.add(i, b); err != nil {
			return err
		}
		if d.sent++; i%unread == unread-1 || i == len(messages)-1 {
			if err := d.read(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// read waits until what was sent is read.
func (d *drive) read(ctx context.Context) error {
	if err := d.flush(); err != nil {
		return err
	}
	if _, ok := d.wire.(streams); ok {
		return nil // they are held back
	}
	if !d.prompt() {
		return pauseFor(ctx, time.Duration(unread*d.perPacket/unhurried*float64(time.Second)))
	}
	for {
		p, err := d.look(ctx)
		if err != nil || p.read+p.lost >= d.sent {
			return err
		}
		if err := pauseFor(ctx, lookWait); err != nil {
			return err
		}
	}
}

const (
	tick      = time.Millisecond      // how often the pace is looked at
	mostBurst = 20 * time.Millisecond // worth of values that are sent at once to catch up
)

// paced sends rate values a second for length, and returns how long it took. If the machine does
// not let it keep up, it does not catch up by more than mostBurst.
func (d *drive) paced(ctx context.Context, rate float64, length time.Duration) (time.Duration, error) {
	begun := time.Now()
	from := begun // the pace counts from here
	sent := 0.0   // since from
	for {
		now := time.Now()
		due := min(now.Sub(from), length-from.Sub(begun)).Seconds() * rate
		if behind := due - sent; behind > mostBurst.Seconds()*rate {
			skip := time.Duration((behind/rate - mostBurst.Seconds()) * float64(time.Second))
			from = from.Add(skip)
			due -= skip.Seconds() * rate
		}
		for sent < due {
			if err := d.one(); err != nil {
				return 0, err
			}
			sent += d.perPacket
		}
		if err := d.flush(); err != nil {
			return 0, err
		}
		if took := time.Since(begun); took >= length {
			return took, nil
		}
		if err := pauseFor(ctx, tick); err != nil {
			return 0, err
		}
	}
}

const (
	settled     = time.Second      // without a change, after which nothing more is waited for,
	stuck       = 20 * time.Second // the same where something is known to be on its way
	settleLimit = 5 * time.Minute
)

var errStuck = errors.New("bench: the receiver is not done after five minutes")

// drain waits until everything that was sent is stored, or, if something is lost, until nothing
// more happens. It returns the progress at the time of the last change.
func (d *drive) drain(ctx context.Context) (progress, error) {
	var last progress
	changed := time.Now()
	for end := changed.Add(cmp.Or(d.most, settleLimit)); time.Now().Before(end); {
		p, err := d.look(ctx)
		if err != nil {
			return p, err
		}
		if p.read != last.read || p.stored != last.stored || p.taken != last.taken {
			last, changed = p, time.Now()
		}
		patience := settled
		if _, ok := d.wire.(streams); p.stored < p.taken || !ok && p.read+p.lost < d.sent {
			patience = stuck
		}
		if p.stored >= d.samples || time.Since(changed) > patience {
			return last, nil
		}
		if err := pauseFor(ctx, lookWait); err != nil {
			return p, err
		}
	}
	if d.most > 0 {
		d.gaveUp = true
		return last, nil
	}
	return last, errStuck
}

const (
	calmFor   = 200 * time.Millisecond
	calmLimit = 30 * time.Second
)

// calm waits until the target writes no more. Making series and describing them takes longer than
// storing their first values.
func (d *drive) calm(ctx context.Context) error {
	var last uint64
	changed := time.Now()
	for begun := changed; d.prompt() && time.Since(changed) < calmFor && time.Since(begun) < calmLimit; {
		p, err := d.look(ctx)
		if err != nil {
			return err
		}
		if n := p.snapshot.Store.LogWritten; n != last {
			last, changed = n, time.Now()
		}
		if err := pauseFor(ctx, lookWait); err != nil {
			return err
		}
	}
	return nil
}

// pauseFor waits for d, or until ctx ends.
func pauseFor(ctx context.Context, d time.Duration) error {
	if d <= tick { // too short for a timer and a select to be worth it
		time.Sleep(d)
		return ctx.Err()
	}
	return sleep.For(ctx, d)
}

// measure sends a round that makes the series, and a second one. It then sends the load at its rate
// and returns the figures of that.
func (d *drive) measure(ctx context.Context, rate float64, length time.Duration) (m Measured, err error) {
	if err := d.gently(ctx, d.before()); err != nil {
		return m, err
	}
	for range 2 {
		if _, err := d.round(ctx); err != nil {
			return m, err
		}
	}
	if err := d.calm(ctx); err != nil {
		return m, err
	}
	begin, err := d.mark(ctx, false)
	if err != nil {
		return m, err
	}
	sent, samples, values := d.sent, d.samples, d.values
	user, system := cpuTimes()
	begun := time.Now()
	took, err := d.paced(ctx, rate, length)
	if err != nil {
		return m, err
	}
	user2, system2 := cpuTimes()
	done, err := d.drain(ctx)
	if err != nil {
		return m, err
	}
	end, err := d.mark(ctx, true)
	if err != nil {
		return m, err
	}
	m.Packets, m.Values = d.sent-sent, d.values-values
	m.SendSeconds, m.Seconds = took.Seconds(), max(done.at.Sub(begun), took).Seconds()
	m.LostPackets = end.lost - begin.lost
	m.StoredSeries = end.stored - begin.stored
	m.GaveUp = d.gaveUp
	if m.Stored = end.values - begin.values; end.values == 0 {
		m.Stored = uint64(math.Round(float64(m.StoredSeries) * ratio(float64(m.Values), float64(d.samples-samples))))
	}
	m.User, m.System = (end.user - begin.user).Seconds(), (end.system - begin.system).Seconds()
	m.SenderSeconds = (user2 + system2 - user - system).Seconds()
	m.begin, m.end = begin, end
	m.Rate = rate
	m.figure()
	return m, nil
}
