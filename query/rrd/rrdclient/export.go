package rrdclient

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// Export returns a whole series, to the digits that DUMP writes.
func (c *Client) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	f, err := c.Series(ref)
	if err != nil {
		return core.Copy{}, err
	}
	// The server disconnects after a DUMP, so it gets a connection of its own.
	other, err := Dial(ctx, c.addr)
	if err != nil {
		return core.Copy{}, err
	}
	defer func() { _ = other.Close() }() // all was read
	stop := context.AfterFunc(ctx, func() { _ = other.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	series, err := other.dump(c.name(f.Path), f.Path)
	if err != nil {
		return core.Copy{}, fmt.Errorf("dump of %s: %w", c.name(f.Path), err)
	}
	return series, nil
}

// dump sends a DUMP and reads the answer, which is XML or an error.
func (c *Client) dump(name, path string) (core.Copy, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return core.Copy{}, err
	}
	if _, err := c.conn.Write([]byte("DUMP " + name + "\n")); err != nil {
		return core.Copy{}, err
	}
	first, err := c.in.Peek(1)
	if err != nil {
		return core.Copy{}, err
	}
	if first[0] != '<' {
		left := wire.MaxLine
		r, err := c.reply(&left)
		if err == nil {
			err = r.err
		}
		if err == nil {
			err = errAnswer
		}
		return core.Copy{}, err
	}
	x, err := rrdfile.ReadXML(io.LimitReader(c.in, maxAnswer), rrdfile.XMLOptions{WholeHistory: true})
	if err != nil {
		return core.Copy{}, err
	}
	return transfer.CopyOf(path, x)
}
