package main

import "github.com/rondo-db/rondo/receivers"

// protocols is every way in.
var protocols = []receivers.Protocol{}
