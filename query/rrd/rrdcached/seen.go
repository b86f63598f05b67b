package rrdcached

import "github.com/rondo-db/rondo/query/rrd/transfer"

// Programs on this machine make a series when they see no file of its name, as rrdtool would have left one: gmetad with every
// value that it writes, Munin and Smokeping when they run. They get a file to see.

// makeSeen makes a series. One of the same definition that is there without a file that the client could see is kept, unless the client is
// on another machine.
func (c *conn) makeSeen(x *creating) error {
	same := x.seen != "" && !transfer.Sees(c.s.names.base, x.seen)
	_, err := c.s.verb(c.s.life, x.base, x.args, same)
	if err == nil && x.seen != "" {
		transfer.Show(c.s.names.base, x.seen)
	}
	return err
}
