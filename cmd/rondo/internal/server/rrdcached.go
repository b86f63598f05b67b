package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// answersPart is the divisor of the memory budget that gives the bytes of rows in answers of
// rrdcached's protocol.
const answersPart = 16

// listenRRDCached opens the ports of rrdcached's protocol.
func (s *server) listenRRDCached(fail context.CancelCauseFunc) (*daemon, error) {
	const name = "rrdcached"
	files := s.activated[name]
	if len(s.RRDCached.Addresses)+len(files) == 0 {
		return nil, nil
	}
	o := s.RRDCached.Options
	o.Store, o.Own, o.Held = s.store, clustered.OwnFolder, s.Engine.Reorder > 0
	o.Answers, o.Logger = s.Memory/answersPart, s.Logger.With("for", name)
	if s.RRDCached.Define != nil {
		o.Make = s.makeMissing
	}
	srv, err := rrdcached.New(o)
	if err != nil {
		return nil, fmt.Errorf("--rrdcached-base %s: %w", s.RRDCached.Base, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &daemon{Server: srv, cancel: cancel}
	serve := func(l net.Listener, a rrdcached.Address) {
		l, access, secured := s.rrdcachedListener(l, a)
		d.addrs = append(d.addrs, l.Addr())
		d.secured = append(d.secured, secured)
		s.announce(name, l.Addr(), secured())
		d.running.Go(func() {
			if err := srv.Serve(ctx, l, access); err != nil {
				fail(err)
			}
		})
	}
	if len(files) > 0 {
		for i, f := range files {
			l, err := inherited(name, f)
			if err != nil {
				return d, err
			}
			a := rrdcached.Address{Network: l.Addr().Network(), Addr: l.Addr().String()}
			if i < len(s.RRDCached.Addresses) {
				a.Allow = s.RRDCached.Addresses[i].Allow
			}
			serve(l, a)
		}
		return d, nil
	}
	for _, a := range s.RRDCached.Addresses {
		l, err := rrdcached.Listen(a)
		if err != nil {
			if err := s.addressInUse(name, Address{Addr: a.String(), Named: s.RRDCached.Named}, err); err != nil {
				return d, err
			}
			continue
		}
		serve(l, a)
	}
	return d, nil
}

// makeMissing makes the series that UPDATE commands name, those that a rule allows.
func (s *server) makeMissing(ctx context.Context, missing []rrdcached.Missing) []error {
	policy := s.receivers.sink.Policy()
	errs, failed := s.resolve(ctx, len(missing), func(i int) (receivers.Request, error) {
		m := &missing[i]
		define, err := s.definer(policy, m)
		return receivers.Request{Identity: receivers.Identity{Path: m.Path}, Sender: m.Peer, Time: m.Time, Define: define}, err
	})
	for i, err := range errs {
		if failed == nil && err != nil && !errors.Is(err, core.ErrNotFound) {
			errs[i] = fmt.Errorf("series not made: %w", err)
		}
	}
	return errs
}

// definer returns the function that defines a missing series. The error is core.ErrNotFound if no
// rule allows the series. The ending .rrd of a name is optional, for rules too.
func (s *server) definer(p *sink.Policy, m *rrdcached.Missing) (func(step int64) *rra.Definition, error) {
	id := receivers.Identity{Path: m.Path}
	whole := p.Names(id)
	if !whole {
		if id.Path = strings.TrimSuffix(m.Path, ".rrd"); !p.Names(id) {
			return nil, core.ErrNotFound
		}
	}
	sources := p.Sources(id)
	if n := readings(sources); sources != nil && n != m.Values {
		return nil, fmt.Errorf("%d values for the %d data sources of the rule", m.Values, n)
	}
	define := func(step int64) *rra.Definition { return s.RRDCached.Define(m.Path, m.Values, sources, step) }
	if whole {
		return define, nil
	}
	// The rule matches the name without .rrd and not the path itself, so its fields are applied
	// here.
	d, err := p.Define(id, define)
	return func(int64) *rra.Definition { return d }, err
}

// readings returns how many values a sample has.
func readings(sources []rra.DataSource) int {
	n := 0
	for i := range sources {
		if sources[i].Kind != rra.Compute {
			n++
		}
	}
	return n
}
