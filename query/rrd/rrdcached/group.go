package rrdcached

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/rra"
)

// A group is what has arrived at once on a connection, up to a request whose answer depends on the
// samples before it. Its samples are one batch of the engine, which becomes durable as one; its
// answers are sent in the order of the requests.
type group struct {
	batch  core.Batch
	ticket core.Ticket
	sent   bool   // the ticket is to be waited for
	slots  []slot // one a request
	cur    int    // the slot that samples are read for
	size   int    // bytes of answers that are known
	owner  []int32
	exact  []exactTime
	second []byte // the time of the sample read last, if it was plain; when is what it says
	when   rra.Time
	values []rra.Value // of the sample being read
	texts  []string
}

// A slot is one request and its answer.
type slot struct {
	e      *entry // of an UPDATE; nil: the answer is known
	answer string // what stopped the request; or the whole answer
	number int32  // in a BATCH, from 1; -1: outside
	stored int32  // samples
}

// An exactTime is the time of a sample that is no whole second, as its text says it.
type exactTime struct {
	sample int
	at     float64
}

// maxGroup is how many requests a group may have.
const maxGroup = 16384

func (g *group) reset() {
	g.batch.Reset()
	g.batch.Rejections = maxSamples
	clear(g.slots) // they hold names and answers
	g.slots, g.owner, g.exact, g.sent = g.slots[:0], g.owner[:0], g.exact[:0], false
	g.size = 0
}

// maxSamples is more than a group can have: a sample takes two bytes of a line at least.
const maxSamples = maxGroup * MaxLine

// own notes that the sample added last is of the request at hand.
func (g *group) own() {
	s := &g.slots[g.cur]
	if s.stored > 0 {
		g.batch.Follow()
	}
	s.stored++
	g.owner = append(g.owner, int32(g.cur))
}

// refuse puts into the slots why samples were not stored. It returns the slots whose series has
// ended, each once, in order.
func (g *group) refuse(err error) (ended []int) {
	rejected, ok := errors.AsType[*core.RejectedError](err)
	if !ok {
		for i := range g.slots {
			if s := &g.slots[i]; s.stored > 0 {
				s.answer = failure(err.Error())
			}
		}
		return nil
	}
	for _, r := range rejected.First {
		i := int(g.owner[r.Index])
		if errors.Is(r.Err, core.ErrNotFound) {
			ended = append(ended, i)
			continue
		}
		g.slots[i].answer = failure(g.why(r.Index, r.Err))
	}
	return ended
}

// why puts into rrdcached's words why a sample was not stored.
func (g *group) why(sample int, err error) string {
	var late *rra.TimeError
	var value *rra.ValueError
	switch {
	case errors.As(err, &late):
		at := seconds(late.At)
		for _, x := range g.exact {
			if x.sample == sample {
				at = strconv.FormatFloat(x.at, 'f', 6, 64)
			}
		}
		return fmt.Sprintf("illegal attempt to update using time %s when last update time is %s (minimum one second step)", at, seconds(late.Last))
	case errors.As(err, &value):
		return value.Err.Error()
	}
	return err.Error()
}

// seconds prints a time as rrdcached prints the text that it was read from. A fraction is cut when
// it is read, so that .26 may be kept as .259999: of the two the rounder one is meant.
func seconds(t rra.Time) string {
	sec, micro := t.Unix(), t.Micro()
	if up := float64(sec) + float64(micro+1)/1e6; micro%10 == 9 && micro != 999999 && int64((up-float64(sec))*1e6) == micro {
		micro++
	}
	return fmt.Sprintf("%d.%06d", sec, micro)
}

// failure is the answer that something went wrong: one line, in which what it quotes can do no
// harm.
func failure(what string) string { return "-1 " + oneLine(what) }

// oneLine makes sure that a text does not end its line, or command the terminal that shows it.
func oneLine(s string) string { return text.Escape(strings.ReplaceAll(s, "\n", " ")) }
