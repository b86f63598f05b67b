package rrdcached

import (
	"os"
	"strings"

	"github.com/rondo-db/rondo/query/transfer"
)

// Programs on this machine make a series when they see no file of its name, as rrdtool would have left one: gmetad with every
// value that it writes, Munin and Smokeping when they run. They get a file to see.

// makeSeen makes a series. One of the same definition that is there without a file that the client could see is kept, unless the client is
// on another machine.
func (c *conn) makeSeen(x *creating) error {
	same := x.seen != "" && !c.s.names.sees(x.seen)
	_, err := c.s.verb(c.s.life, x.base, x.args, same)
	if err == nil && x.seen != "" {
		c.s.names.show(x.seen)
	}
	return err
}

// sees says whether there is a file of a name below the base, or no folder that it could be in.
func (n *names) sees(path string) bool {
	root, err := os.OpenRoot(n.base)
	if err != nil {
		return true
	}
	defer func() { _ = root.Close() }() // nothing was written
	if _, err := root.Lstat(path); err == nil {
		return true
	}
	i := strings.LastIndexByte(path, '/')
	info, err := root.Stat("./" + path[:max(i, 0)])
	return err != nil || !info.IsDir()
}

// show puts a file where a client looks for that of a series, if there is a folder for it, and no file. That it cannot be is as it
// was with no file: the next request makes the series again, and it is kept.
func (n *names) show(path string) {
	root, err := os.OpenRoot(n.base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // as in sees
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return
	}
	_, _ = f.WriteString(transfer.Note) // an empty one does as well
	_ = f.Close()                       // likewise
}
