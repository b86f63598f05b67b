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

// longestReading is the longest text of a reading in a burst. Every number that is sent in practice
// is shorter.
const longestReading = 40

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
	if e == nil {
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

// sample reads a sample of whole seconds, or N, and readings that are numbers.
func (g *burst) sample(l *layout, word []byte) bool {
	at, rest, ok := g.plainTime(word)
	if !ok {
		return false
	}
	for _, c := range rest {
		if c-'0' > 9 && c != ':' && c != '.' && c != 'U' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	first, texts := len(g.values), len(g.texts)
	for range l.values {
		g.values = append(g.values, rra.Unknown)
	}
	values := g.values[first:]
	for i := range l.takes {
		t := &l.takes[i]
		text := rest
		end := bytes.IndexByte(rest, ':')
		if last := i == len(l.takes)-1; last != (end < 0) {
			return false // too few or too many
		} else if !last {
			text, rest = rest[:end], rest[end+1:]
		}
		if len(text) > longestReading {
			return false
		}
		if t.input < 0 {
			continue
		}
		v := rra.ParseReading(t.kind, text, &g.texts)
		if v.Tag >= rra.TagText {
			v.Bits -= uint64(texts)
		}
		values[t.input] = v
	}
	g.samples = append(g.samples, burstSample{at, len(g.texts)})
	return true
}

// plainTime reads the time of a sample, if it is whole seconds or N.
func (g *burst) plainTime(word []byte) (at rra.Time, rest []byte, ok bool) {
	if len(word) > 2 && word[0] == 'N' && word[1] == ':' {
		return rra.TimeOf(g.now()), word[2:], true
	}
	sec, i := int64(0), 0
	for i < len(word) && word[i]-'0' <= 9 {
		sec = sec*10 + int64(word[i]-'0')
		if i++; i > 11 { // a long way ahead, or an overflow
			return 0, nil, false
		}
	}
	if i == 0 || i == len(word) || word[i] != ':' {
		return 0, nil, false
	}
	return rra.Seconds(sec), word[i+1:], true
}
