package graphite

import (
	"context"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/dotted"
	"github.com/rondo-db/rondo/rra"
)

// resolve asks the sink for the series of the points whose series is not known.
func (c *source) resolve(ctx context.Context) {
	c.schemas.refresh(c.cfg.Now())
	for _, i := range c.unknown {
		name := string(c.points[i].Name)
		k, asked := c.news.Index(name)
		if !asked {
			r, err := c.request(i)
			if err != nil {
				continue // addNews finds no request
			}
			k = c.news.Ask(name, r)
		}
		c.news.Wait(k, i, 0, c.now)
	}
	_ = c.news.Resolve(ctx, c.asks) // it is logged, and Replay counts what it costs
}

// identify returns the identity of a name. Its part number host, from 1, is the label host, unless
// a tag is.
func identify(n dotted.Name, host int) receivers.Identity {
	id, parts := n.Identity(prefix), strings.Split(n.Path, ".")
	if host > 0 && host < len(parts) && core.LabelValue(id.Labels, "host") == "" {
		id.Labels = append(id.Labels, core.Label{Name: "host", Value: receivers.LabelValue(parts[host-1])})
	}
	return id
}

// request returns the request for the series of point i.
func (c *source) request(i int) (receivers.Request, error) {
	p := &c.points[i]
	n, err := ParseName(p.Name)
	if err != nil {
		return receivers.Request{}, err
	}
	name, schemas := n.String(), c.schemas
	return receivers.Request{
		Identity: identify(n, c.part),
		Sender:   c.sender(i),
		Time:     rra.Seconds(p.Time),
		Untyped:  true,
		Define:   func(step int64) *rra.Definition { return schemas.Define(name, step) },
		Learn:    schemas.Learns(name),
	}, nil
}
