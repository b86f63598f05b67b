package graphite

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// resolve asks the sink for the series of the new points. It fills in results.
func (c *source) resolve(ctx context.Context) {
	if c.pause.Lasts(c.now) {
		return
	}
	c.schemas.refresh(c.cfg.Now())
	var names []string
	var reqs []receivers.Request
	for _, i := range c.news {
		name := c.points[i].Name
		if _, asked := c.results[string(name)]; asked {
			continue
		}
		r, err := c.request(i)
		if err != nil {
			c.results[string(name)] = c.refused(string(name), err)
			continue
		}
		c.results[string(name)] = outcome{why: receivers.Overload}
		names, reqs = append(names, string(name)), append(reqs, r)
	}
	for len(reqs) > 0 {
		n := min(len(reqs), receivers.MaxNewcomers)
		if err := receivers.Resolve(ctx, c.sink, reqs[:n]); err != nil {
			c.failed(names, err)
			return
		}
		for i := range n {
			c.results[names[i]] = c.outcome(names[i], &reqs[i])
		}
		names, reqs = names[n:], reqs[n:]
	}
}

// request returns the request for the series of point i.
func (c *source) request(i int) (receivers.Request, error) {
	p := &c.points[i]
	n, err := ParseName(p.Name)
	if err != nil {
		return receivers.Request{}, err
	}
	return receivers.Request{
		Identity: n.Identity(prefix),
		Sender:   c.sender(i),
		Time:     rra.Seconds(p.Time),
		Untyped:  true,
		Define:   func(step int64) *rra.Definition { return c.schemas.Define(n.String(), step) },
	}, nil
}

// failed notes that the sink has answered nothing for the names.
func (c *source) failed(names []string, err error) {
	c.pause.Begin(c.cfg.Now())
	why, _ := receivers.Failure(err)
	for _, name := range names {
		c.results[name] = outcome{why: why}
	}
	if ok, held := c.logs.Allow("resolve", c.now); ok {
		c.cfg.Logger.Error("graphite: series not made", "series", len(names), "err", err, "held_back_lines", held)
	}
}

var errSources = errors.New("the series has more than one value")

// outcome returns the series that a request has led to.
func (c *source) outcome(name string, r *receivers.Request) outcome {
	if r.Err != nil {
		return c.refused(name, r.Err)
	}
	ds, ok := receivers.OnlySource(r.Definition)
	if !ok {
		return c.refused(name, errSources)
	}
	return outcome{ref: r.Ref, kind: ds.Kind}
}

// refused returns the outcome for a name that has no series because of err.
func (c *source) refused(name string, err error) outcome {
	why, retry := receivers.Absence(err)
	if slices.Contains([]error{errTag, errNoName}, err) {
		why = receivers.Malformed
	}
	if ok, held := c.logs.Allow("refused", c.now); ok {
		c.cfg.Logger.Warn("graphite: values are dropped", "name", name, "err", err, "held_back_lines", held)
	}
	return outcome{why: why, retry: uint32(c.now.Add(retry).Unix())}
}
