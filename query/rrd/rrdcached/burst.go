package rrdcached

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/rra"
)

// A burst is the requests that have arrived at once on a connection, up to a request whose answer
// depends on the samples before it. Its samples are one batch of the engine, which becomes durable
// as a whole. Its answers are sent in the order of the requests.
type burst struct {
	batch  core.Batch
	ticket core.Ticket
	sent   bool    // the batch was submitted: wait for the ticket
	slots  []slot  // one for each request
	cur    int     // index of the slot that samples are read into
	size   int     // bytes of the answers that are known
	owner  []int32 // index of the slot of each sample
	exact  []exactTime
	second []byte      // text of the time read last by plain
	when   rra.Time    // the time that second says
	values []rra.Value // values of the sample that is being read
	texts  []string    // their texts
}

// A slot is one request and its answer.
type slot struct {
	e      *alias // the series of an UPDATE; nil: the answer is known
	answer string // the error of an UPDATE, or the whole answer
	number int32  // number of the request in its BATCH, from 1; -1: no BATCH
	stored int32  // samples of the request; endOfBatch: it ends a BATCH
}

// An exactTime is the time of a sample that is no whole second, as the request gives it.
type exactTime struct {
	sample int
	at     float64
}

// maxBurst bounds the requests of a burst.
const maxBurst = 16384

func (g *burst) reset() {
	g.batch.Reset()
	g.batch.Rejections = maxSamples
	clear(g.slots) // keep no aliases and answers alive
	g.slots, g.owner, g.exact, g.sent = g.slots[:0], g.owner[:0], g.exact[:0], false
	g.size = 0
}

// maxSamples is more than the samples of any burst: a sample takes at least two bytes of a line.
const maxSamples = maxBurst * MaxLine

// unslot takes the last slot away, which has no samples.
func (g *burst) unslot() {
	n := len(g.slots) - 1
	g.slots[n] = slot{}
	g.slots = g.slots[:n]
}

// own assigns the sample that was added last to the current slot.
func (g *burst) own() {
	s := &g.slots[g.cur]
	if s.stored > 0 {
		g.batch.Follow()
	}
	s.stored++
	g.owner = append(g.owner, int32(g.cur))
}

// refuse answers the slots whose samples were not stored; owner has the slot of each sample, and
// exact the times that are no whole seconds. It returns the slots whose series has ended instead,
// in order; a slot may be repeated.
func (g *burst) refuse(err error, owner []int32, exact []exactTime) (ended []int32) {
	missing, rejected := missingOf(err, len(owner))
	for i := range missing {
		g.slots[owner[i]].answer = failure(reason(err).Error())
	}
	for _, r := range rejected {
		i := owner[r.Index]
		if errors.Is(r.Err, core.ErrNotFound) {
			ended = append(ended, i)
			continue
		}
		g.slots[i].answer = failure(why(r, exact))
	}
	return ended
}

// missingOf yields the indices of the samples, of a batch of n, that were not stored because the
// store or a part of it could not be asked, and returns those that were refused.
func missingOf(err error, n int) (missing iter.Seq[int], rejected []core.Rejection) {
	if partial, ok := errors.AsType[*core.PartialError](err); ok {
		if partial.Rejected != nil {
			rejected = partial.Rejected.First
		}
		return slices.Values(partial.Missing), rejected
	}
	if r, ok := errors.AsType[*core.RejectedError](err); ok {
		return func(func(int) bool) {}, r.First
	}
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ { // all of them
		}
	}, nil
}

// reason returns why samples are missing.
func reason(err error) error {
	if partial, ok := errors.AsType[*core.PartialError](err); ok {
		return partial.Err
	}
	return err
}

// why returns rrdcached's text for a sample that was not stored.
func why(r core.Rejection, exact []exactTime) string {
	var late *rra.TimeError
	var value *rra.ValueError
	switch {
	case errors.As(r.Err, &late):
		at := seconds(late.At)
		for _, x := range exact {
			if x.sample == r.Index {
				at = strconv.FormatFloat(x.at, 'f', 6, 64)
			}
		}
		return fmt.Sprintf("illegal attempt to update using time %s when last update time is %s (minimum one second step)", at, seconds(late.Last))
	case errors.As(r.Err, &value):
		return value.Err.Error()
	}
	return explain(r.Err)
}

// seconds prints a time as rrdcached prints the number that it was read from. Reading cuts
// fractions off after microseconds, so .26 may be stored as .259999; seconds then prints .260000.
func seconds(t rra.Time) string {
	sec, micro := t.Unix(), t.Micro()
	if up := float64(sec) + float64(micro+1)/1e6; micro%10 == 9 && micro != 999999 && int64((up-float64(sec))*1e6) == micro {
		micro++
	}
	return fmt.Sprintf("%d.%06d", sec, micro)
}

// failure returns the answer for an error, as one line without control characters.
func failure(what string) string { return "-1 " + oneLine(what) }

// oneLine returns a text without line feeds and without control characters that a terminal obeys.
func oneLine(s string) string { return text.Escape(strings.ReplaceAll(s, "\n", " ")) }

// explain returns the text of an error for a client. A call that this server has ended, because it
// stops, can be made again.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return core.ErrUnavailable.Error() + ": the server stops"
	}
	return err.Error()
}
