package serve

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/rra"
)

// Flags of rrdcached's protocol.
const (
	RRDCachedFlag      = "rrdcached" // the addresses
	RRDCachedBase      = "rrdcached-base"
	RRDCachedHostConns = "rrdcached-host-connections"
)

// An rrdcachedFlags is the flags of rrdcached's protocol whose texts have to be read.
type rrdcachedFlags struct {
	addresses []string
	tls       []string
}

// addFlags adds the flags of the protocol. Those whose texts need no reading fill c.
func (r *rrdcachedFlags) addFlags(f *pflag.FlagSet, c *server.RRDCached) {
	f.StringSliceVar(&r.addresses, RRDCachedFlag, nil,
		"`address` of rrdcached's protocol, host:port or unix:/path, with options: unix:/path?mode=0660&group=www "+
			"(default: "+rrdcached.SocketName+" in the database's folder)")
	f.StringVar(&c.Base, RRDCachedBase, "", "`folder` that is cut off the front of clients' file names (default: RONDO_BASE or base:, else the working folder)")
	f.BoolVar(&c.Adopt, "rrdcached-adopt", true, "import the native file of a name below the base when a client names a series that does not exist")
	f.IntVar(&c.Conns, "rrdcached-connections", rrdcached.DefaultConns, "largest `number` of clients at unix sockets together, and likewise over TCP")
	f.IntVar(&c.HostConns, RRDCachedHostConns, 0, "largest `number` of TCP clients with one IPv4 address, or in one 64-bit network of IPv6 (default: half of --rrdcached-connections)")
	f.StringSliceVar(&r.tls, "rrdcached-tls", nil, "`CERT,KEY`: files of a certificate and of its key; the TCP addresses of --rrdcached then speak TLS")
	c.Idle = rrdcached.DefaultIdle
	f.Var((*cli.Duration)(&c.Idle), "rrdcached-idle", "`time` after which a silent client is disconnected; negative: never")
}

// RRDCached returns the settings of rrdcached's protocol for the database db. named says that the
// user has chosen the addresses.
func (s *Settings) RRDCached(db string, named bool) (server.RRDCached, error) {
	c := s.Config.RRDCached
	c.Named, c.Define = named, defineUpdated()
	if c.Base == "" {
		c.Base = s.Base()
	}
	if c.Conns < 1 {
		return c, fmt.Errorf("--rrdcached-connections %d: want 1 or more", c.Conns)
	}
	if c.HostConns < 0 {
		return c, fmt.Errorf("--"+RRDCachedHostConns+" %d: want 0 or more", c.HostConns)
	}
	switch len(s.rrd.tls) {
	case 0:
	case 2:
		c.TLS = [2]string(s.rrd.tls)
	default:
		return c, fmt.Errorf("--rrdcached-tls %s: want two files, CERT,KEY", strings.Join(s.rrd.tls, ","))
	}
	if !named {
		// No TCP port by default, because any web page in a browser on this machine can send to
		// one.
		c.Addresses = []rrdcached.Address{{Network: "unix", Addr: filepath.Join(db, rrdcached.SocketName)}}
		return c, nil
	}
	for _, text := range s.rrd.addresses {
		a, err := rrdcached.ParseAddress(text)
		if err != nil {
			return c, fmt.Errorf("--%s %s: %w", RRDCachedFlag, text, err)
		}
		c.Addresses = append(c.Addresses, a)
	}
	return c, nil
}

// defaultStep is rrdtool's default step in seconds, for series whose name suggests no other.
const defaultStep = 300

// defineUpdated returns the function that defines a series made by its first UPDATE. If no rule
// gives the data sources, a name like collectd's (…/TYPE or …/TYPE-INSTANCE, with as many values as
// the type has) gets the type's. Any other name gets gauges.
func defineUpdated() func(name string, values int, sources []rra.DataSource, step int64) *rra.Definition {
	types := sync.OnceValue(collectd.StandardTypes)
	return func(name string, values int, sources []rra.DataSource, step int64) *rra.Definition {
		own := int64(defaultStep)
		if sources == nil {
			typ, _, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".rrd"), "-")
			if known := types()[typ]; len(known) == values {
				sources, own = known, 0
			}
		}
		if step == 0 {
			step = own
		}
		d := receivers.StandardDefinition(step) // 0: collectd's interval
		if sources == nil {
			d.Sources = gauges(values)
		} else {
			d.Sources = append([]rra.DataSource(nil), sources...)
		}
		for i := range d.Sources {
			if s := &d.Sources[i]; s.Heartbeat == 0 && s.Kind != rra.Compute {
				s.Heartbeat = 2 * d.Step
			}
		}
		return d
	}
}

// gauges returns n data sources called value, or value0 and so on.
func gauges(n int) []rra.DataSource {
	ds := make([]rra.DataSource, n)
	for i := range ds {
		ds[i] = rra.DataSource{Name: "value", Kind: rra.Gauge, Min: math.NaN(), Max: math.NaN()}
		if n > 1 {
			ds[i].Name += strconv.Itoa(i)
		}
	}
	return ds
}
