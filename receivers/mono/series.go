package mono

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// defaultHeartbeat is the heartbeat of a series in seconds. The protocol does not carry the
// interval.
const defaultHeartbeat = 60

// Identify returns the path of the series of a counter of peer, mono/PEER/CATEGORY/NAME, and its
// labels.
func Identify(peer string, c *Counter) receivers.Identity {
	return receivers.Identity{
		Path: pathname.Join("mono", peer, c.Category.String(), c.Name),
		Labels: []core.Label{
			{Name: "category", Value: c.Category.String()},
			{Name: "name", Value: receivers.Text([]byte(c.Name))},
			{Name: "peer", Value: peer},
			{Name: "type", Value: c.Type.String()},
			{Name: "unit", Value: c.Unit.String()},
			{Name: "variance", Value: c.Variance.String()},
		},
	}
}

// kindOf returns the kind of a counter's data source.
func kindOf(c *Counter) rra.Kind {
	switch {
	case c.Variance != Monotonic:
		return rra.Gauge
	case c.Type == Double:
		return rra.DDerive
	}
	return rra.Derive
}

// Define returns the definition of the series of a counter.
func Define(c *Counter, step int64) *rra.Definition {
	d := receivers.StandardDefinition(step)
	d.Sources[0].Kind, d.Sources[0].Heartbeat = kindOf(c), max(defaultHeartbeat, 2*step)
	return d
}

// fits reports whether a series with the definition d takes values of a counter: it has one data
// source, of the counter's kind, or of the kind that also takes doubles if the series was altered.
func fits(d *rra.Definition, c *Counter) bool {
	ds, ok := receivers.OnlySource(d)
	k := kindOf(c)
	return ok && (ds.Kind == k || k == rra.Derive && ds.Kind == rra.DDerive)
}

// describe returns the metadata of the series of a counter.
func describe(path, sender string, c *Counter, now rra.Time) receivers.Description {
	return receivers.Description{
		Sender: sender,
		PathMetadata: core.PathMetadata{Path: path, Metadata: core.Metadata{
			Time: now,
			Attributes: []core.Label{
				{Name: "category", Value: c.Category.String()},
				{Name: "type", Value: c.Type.String()},
				{Name: "units", Value: c.Unit.String()},
				{Name: "variance", Value: c.Variance.String()},
			},
		}},
	}
}
