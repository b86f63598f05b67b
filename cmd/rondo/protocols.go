package main

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
)

// protocols is every way in.
var protocols = []receivers.Protocol{
	collectd.Protocol,
}
