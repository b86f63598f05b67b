package rrdtool

import (
	"bytes"
	"context"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// Nearly every line of pipe mode is `update NAME TIME:VALUE`. Such lines that have arrived together
// become one batch of the engine, which one sync of the disk makes durable. Their answers are
// written after that, in the order of the lines. Any other line, and an update with anything
// unusual in it, waits until the lines before it are answered, and then runs as a command.

// A Batcher is a Store that stores the samples of many update commands at once, such as a
// [core.Store].
type Batcher interface {
	Append(ctx context.Context, b *core.Batch) error
	// Renames returns how many times series were renamed so far.
	Renames() uint64
}

// A burst holds the update commands that were read and are not yet answered.
type burst struct {
	store Batcher          // nil: the store is no Batcher, and no line is added
	now   func() time.Time // as in Env
	names names
	batch core.Batch
	lines []burstLine

	// The line that is being read:
	samples []burstSample
	values  []rra.Value
	texts   []string
}

// A burstLine is one update command.
type burstLine struct {
	e    *alias
	text []byte // the line, valid until more input is read
	end  int    // index in the batch behind its last sample
}

// A burstSample is one sample of the line that is being read.
type burstSample struct {
	at    rra.Time
	texts int // index behind the texts of its values
}

// maxBurst bounds the lines of a burst.
const maxBurst = 16384

// longestSample is the longest text of a sample in a burst, in bytes. No value in it is longer than
// the store accepts.
const longestSample = 4096

// add adds a line to the burst. It returns false, and changes nothing, if the line is not a plain
// update command.
func (g *burst) add(line []byte) bool {
	if g.store == nil || !bytes.HasPrefix(line, updateWord) {
		return false
	}
	if len(g.lines) == 0 {
		g.names.follow(g.store.Renames())
	}
	e, rest := g.names.find(line[len(updateWord):])
	if e == nil || bytes.IndexByte(rest, '"') >= 0 || bytes.IndexByte(rest, '\'') >= 0 {
		return false
	}
	g.samples, g.values, g.texts = g.samples[:0], g.values[:0], g.texts[:0]
	for more := true; more; {
		var word []byte
		word, rest, more = bytes.Cut(rest, blank)
		if !g.sample(e.layout, word) {
			return false
		}
	}
	n, from := e.layout.values, 0
	for i := range g.samples {
		s := &g.samples[i]
		g.batch.AddText(e.ref, s.at, g.values[i*n:(i+1)*n], g.texts[from:s.texts])
		if from = s.texts; i > 0 {
			g.batch.Follow()
		}
	}
	g.lines = append(g.lines, burstLine{e, line, g.batch.Len()})
	return true
}

// sample reads a sample of whole seconds, or N. It returns false for any other.
func (g *burst) sample(l *layout, word []byte) bool {
	if len(word) > longestSample {
		return false
	}
	when, relative, values, err := l.sample(word, g.values, &g.texts)
	if err != nil || relative {
		return false
	}
	at, ok := g.plainTime(when)
	if !ok {
		return false
	}
	g.values = values
	g.samples = append(g.samples, burstSample{at, len(g.texts)})
	return true
}

// plainTime reads the time of a sample, if it is whole seconds or N.
func (g *burst) plainTime(word []byte) (at rra.Time, ok bool) {
	if string(word) == "N" {
		return rra.TimeOf(g.now()), true
	}
	sec := int64(0)
	for _, c := range word {
		if c-'0' > 9 {
			return 0, false
		}
		sec = sec*10 + int64(c-'0')
	}
	return rra.Seconds(sec), len(word) > 0 && len(word) <= 11 // else a long way ahead, or an overflow
}
