package clustermodel

import (
	"cmp"
	"fmt"
	"slices"
)

// nearlyAll is from which share on something that is busy bounds the others.
const nearlyAll = 0.9

// Run simulates a cluster.
func Run(cfg Config, t Times) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	c := newCluster(cfg, t)
	for _, s := range c.senders {
		s.next()
	}
	c.clock.run(c.from)
	before := c.busy()
	c.clock.run(c.from + c.Seconds)
	c.clock.now = c.from + c.Seconds
	r := c.result()
	for i, b := range c.busy() {
		b.Share = (b.Share - before[i].Share) / c.Seconds
		r.Busy = append(r.Busy, b)
	}
	r.Busy, r.Bottleneck = c.bottleneck(r.Busy)
	// What is on its way comes to its end.
	c.stopped = true
	c.clock.run(c.clock.now + maxSeconds)
	r.sent, r.acked, r.led, r.followed = c.count.sent, c.count.acked, c.count.led, c.count.followed
	if r.acked != r.sent || r.led != r.sent || r.followed != r.sent*int64(c.Replicas-1) {
		return r, fmt.Errorf("the simulation has lost samples: %d sent, %d acknowledged, %d applied by leaders and %d by followers", r.sent, r.acked, r.led, r.followed)
	}
	return r, nil
}

// result returns what was measured.
func (c *cluster) result() (r Result) {
	million := float64(c.count.measured) / 1e6
	r.Rate = float64(c.count.measured) / c.Seconds
	if million > 0 {
		r.Nodes, r.Servers, r.Driver = c.usage.nodes/million, c.usage.servers/million, c.usage.driver/million
	}
	r.AckP50, r.AckP99 = quantile(c.acks, 0.5), quantile(c.acks, 0.99)
	r.LagP50, r.LagP99 = quantile(c.lags, 0.5), quantile(c.lags, 0.99)
	if c.count.messages > 0 {
		r.Messages = float64(c.count.logged) / float64(c.count.messages)
	}
	r.LogBytes = c.bytes / c.Seconds
	return r
}

// quantile returns the value that a share q of all do not exceed; 0 if there are none.
func quantile(all []float64, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

// busy returns for how many seconds each machine, disk and log was busy until now.
func (c *cluster) busy() (all []Busy) {
	for i, m := range c.machines {
		all = append(all, Busy{fmt.Sprintf("cores of machine %d", i+1), m.busy / m.count})
	}
	for i, d := range c.disks {
		all = append(all, Busy{fmt.Sprintf("disk of machine %d", i+1), d.busy()})
	}
	for i, l := range c.logs {
		busy := l.writing
		if l.sending {
			busy += c.clock.now - l.began
		}
		all = append(all, Busy{fmt.Sprintf("message under way of partition %d", i), busy})
	}
	return all
}

// bottleneck returns the busiest of each kind, and what bounds the rate. A log that always has a
// message under way only bounds it if nothing else does: messages grow with the load.
func (c *cluster) bottleneck(all []Busy) (top []Busy, name string) {
	for _, kind := range [][]Busy{all[:len(c.machines)], all[len(c.machines):][:len(c.disks)], all[len(c.machines)+len(c.disks):]} {
		top = append(top, slices.MaxFunc(kind, func(a, b Busy) int { return cmp.Compare(a.Share, b.Share) }))
	}
	for _, b := range top {
		if b.Share >= nearlyAll {
			return top, b.What
		}
	}
	if c.Rate > 0 {
		return top, "none: the senders send no more"
	}
	return top, "batches under way: each waits for its answer"
}
