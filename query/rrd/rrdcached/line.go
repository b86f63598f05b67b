package rrdcached

import "github.com/rondo-db/rondo/query/rrd/rrdcached/wire"

// MaxLine is the longest request in bytes, without the line feed at its end.
const MaxLine = wire.MaxLine

var blank = []byte{' '}

// A request is a line taken apart.
type request struct {
	cmd  *command // nil: there is no such command
	name []byte   // the command as it was written
	args []byte   // what follows it
	has  bool     // whether a blank did
}

// parseRequest reads the command of a line. It is not ok if the first word ends in a backslash.
func parseRequest(line []byte) (r request, ok bool) {
	raw, rest, more, ok := wire.CutWord(wire.UntilZero(line))
	if !ok {
		return r, false
	}
	r.name, r.args, r.has = wire.Unescape(raw), rest, more
	r.cmd = findCommand(r.name)
	return r, true
}

// next takes the next word off r; not ok after the last.
func (r *request) next() (word []byte, ok bool) {
	raw, ok := r.nextRaw()
	if !ok {
		return nil, false
	}
	return wire.Unescape(raw), true
}

// nextRaw is next for a word as it was written.
func (r *request) nextRaw() (raw []byte, ok bool) {
	if !r.has {
		return nil, false
	}
	raw, r.args, r.has, ok = wire.CutWord(r.args)
	return raw, ok
}

// words returns the words that are left.
func (r *request) words() []string {
	var ws []string
	for {
		w, ok := r.next()
		if !ok {
			return ws
		}
		ws = append(ws, string(w))
	}
}
