package rrdcached

import "github.com/rondo-db/rondo/query/rrd/rrdcached/wire"

// MaxLine is the longest request in bytes, without the line feed at its end.
const MaxLine = wire.MaxLine

var blank = []byte{' '}

// A request is a line that is being split into words.
type request struct {
	cmd  *command // nil: the command is unknown
	name []byte   // the command as the client wrote it
	args []byte   // the rest of the line
	has  bool     // another word follows, which may be empty
}

// parseRequest reads the command of a line. ok is false if the first word ends in a backslash.
func parseRequest(line []byte) (r request, ok bool) {
	raw, rest, more, ok := wire.CutWord(wire.UntilZero(line))
	if !ok {
		return r, false
	}
	r.name, r.args, r.has = wire.Unescape(raw), rest, more
	r.cmd = findCommand(r.name)
	return r, true
}

// next takes the next word off r. ok is false after the last word.
func (r *request) next() (word []byte, ok bool) {
	raw, ok := r.nextRaw()
	if !ok {
		return nil, false
	}
	return wire.Unescape(raw), true
}

// nextRaw is next for a word with its backslashes.
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
