package receivebench

import (
	"context"
	"fmt"
)

const (
	mostLoss   = 0.001 // a rate is good if at most this part is lost,
	mostBehind = 1.1   // and storing takes at most this times as long as sending,
	inFlight   = 1     // plus this many seconds
	growth     = 1.3   // factor of the next rate while rates are good
	near       = 1.04  // the search ends when a good and a bad rate are this near to each other
	sentEnough = 0.95  // the sender is too slow for a rate if it sends less than this part
)

// Find searches for the highest rate, starting at c.Rate, at which at most a thousandth is lost and
// the receiver keeps up. It does so for rondo's receiver and for the peer separately, and returns
// what it measured at these rates. It calls report with each step.
func Find(ctx context.Context, c Config, report func(line string)) (r Result, err error) {
	if err := c.validate(); err != nil {
		return r, err
	}
	r.Protocol, r.Rate = c.Protocol, c.Rate
	if r.Rondo, err = find(ctx, c, "rondo", runChild, report); err != nil || c.Peer == "" {
		return r, err
	}
	m, err := find(ctx, c, "collectd", runPeer, report)
	r.Peer, r.PeerName = &m, c.peerName()
	return r, err
}

// find searches upwards or, if c.Rate is too high, downwards, and then between the last good and
// the first bad rate.
func find(ctx context.Context, c Config, name string, run func(context.Context, Config) (Measured, error), report func(string)) (best Measured, err error) {
	good, bad := 0.0, 0.0 // rates
	for {
		m, err := run(ctx, c)
		if err != nil {
			return best, err
		}
		ok := m.Loss <= mostLoss && m.Seconds <= mostBehind*m.SendSeconds+inFlight
		report(fmt.Sprintf("%s: %.3f million values a second asked for, %.3f sent, %.3f stored, %.4f %% lost, %.1f s for %.1f s",
			name, m.Rate/1e6, m.SentPerSecond/1e6, m.ValuesPerSecond/1e6, m.Loss*100, m.Seconds, m.SendSeconds))
		switch {
		case ok && m.SentPerSecond < sentEnough*m.Rate:
			return m, nil // the sender has reached its limit
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
