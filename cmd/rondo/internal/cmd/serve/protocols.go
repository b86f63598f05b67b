package serve

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/receivers/graphite"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/rrdd"
	"github.com/rondo-db/rondo/receivers/smon"
	"github.com/rondo-db/rondo/receivers/statsd"
)

// Protocols are all protocols that rondo serve can receive.
var Protocols = []receivers.Protocol{
	collectd.Protocol,
	gmetric.Protocol,
	graphite.Protocol,
	graphite.Pickle,
	influx.Protocol,
	influx.HTTP,
	mono.Protocol,
	remotewrite.Protocol,
	otlp.Protocol,
	rrdd.Protocol,
	smon.Protocol,
	statsd.Protocol,
}
