package main

import (
	"github.com/spf13/cobra"

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

// protocols are all protocols that rondo serve can receive.
var protocols = []receivers.Protocol{
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

// senders make the commands below `rondo send`, one for each protocol.
var senders = []func(c *common) *cobra.Command{
	newSendCollectd,
	newSendGmetric,
	newSendMono,
	newSendSmon,
}

// protocolCommands make the other commands of protocols.
var protocolCommands = []func(c *common) *cobra.Command{
	newMono,
	newRRDDPublish,
}
