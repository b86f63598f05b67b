package receivebench

import (
	"context"
	"fmt"
)

const (
	mostLoss   = 0.001 // of what counts as received,
	mostBehind = 1.1   // within so many times as long as it was sent,
	inFlight   = 1     // and so many seconds
	growth     = 1.3   // of the rate, while it is
	near       = 1.04  // a rate that is good and one that is not, so near, are found
	sentEnough = 0.95  // of a rate; with less the sender is too slow for it
)

// Find searches for the highest rate, from c.Rate on, at which no more than a thousandth is lost
// and what arrives is not left lying, for rondo's receiver and the peer each for itself, and
// returns what was measured there. It tells of every step.
func Find(ctx context.Context, c Config, tell func(line string)) (r Result, err error) {
	if err := c.validate(); err != nil {
		return r, err
	}
	r.Protocol, r.Rate = c.Protocol, c.Rate
	if r.Rondo, err = find(ctx, c, "rondo", runChild, tell); err != nil || c.Peer == "" {
		return r, err
	}
	m, err := find(ctx, c, "collectd", runPeer, tell)
	r.Peer, r.PeerName = &m, c.peerName()
	return r, err
}

// find searches up or, if c.Rate is too much, down, and then between the two rates that it is
// between.
func find(ctx context.Context, c Config, name string, run func(context.Context, Config) (Measured, error), tell func(string)) (best Measured, err error) {
	good, bad := 0.0, 0.0 // rates
	for {
		m, err := run(ctx, c)
		if err != nil {
			return best, err
		}
		ok := m.Loss <= mostLoss && m.Seconds <= mostBehind*m.SendSeconds+inFlight
		tell(fmt.Sprintf("%s: %.3f million values a second asked for, %.3f sent, %.3f stored, %.4f %% lost, %.1f s for %.1f s",
			name, m.Rate/1e6, m.SentPerSecond/1e6, m.ValuesPerSecond/1e6, m.Loss*100, m.Seconds, m.SendSeconds))
		switch {
		case ok && m.SentPerSecond < sentEnough*m.Rate:
			return m, nil // the sender is at its end
		case ok:
			best, good = m, c.Rate
		default:
			bad = c.Rate
		}
		switch {
		case bad == 0:
			c.Rate = good * growth
		case good == 0:
			c.Rate = bad / growth
		case bad/good < near:
			return best, nil
		default:
			c.Rate = (good + bad) / 2
		}
		if c.Rate < 1000 {
			return best, fmt.Errorf("bench: %s loses more than a thousandth at any rate", name)
		}
	}
}
