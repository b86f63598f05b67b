// Package rrdclient speaks rrdcached's protocol as a client. [Dial] connects to rrdcached, or to
// rondo's server of that protocol (package rrdcached). A [Client] is a store of package rrdtool, so
// that the verbs with --daemon work on a server's series.
package rrdclient
