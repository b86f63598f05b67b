package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

const updateUsage = updatevUsage + `
  -d, --daemon ADDRESS    ask the server at ADDRESS`

const updatevUsage = `NAME [OPTIONS] TIME:VALUE[:VALUE…] …
  TIME is seconds since 1970, N for now, or an at-style time with @ behind it;
  a VALUE is a number or U.
  -t, --template DS:DS…   the data sources that the values are for
  -s, --skip-past-updates  pass over samples that are not after the last one
  -L, --locking MODE      try, block or none: no effect, rondo waits for nobody's lock`

var (
	updateOptions  = optionsIn(updateUsage)
	updatevOptions = optionsIn(updatevUsage)
)

// An updating is an update command that is being read.
type updating struct {
	*command
	name     string // the series, as the caller has named it
	ref      core.Ref
	template string
	given    bool // a template was given
	d        *rra.Definition

	gone   bool           // the series has ended since it was found
	reader *attime.Reader // of at-style times; nil until there is one
	batch  core.Batch
	layout layout
	at     []int64 // time of each sample in seconds, as it was given
}

// A layout says which data source each reading of a sample is for.
type layout struct {
	takes  []target
	values int // number of readings that the engine takes for a sample
}

type target struct {
	kind  rra.Kind
	input int // index among the readings that the engine takes; -1: the reading is ignored
}

// update stores samples.
func (c *command) update(args []string) error {
	for tries := 0; ; tries++ {
		u, args, err := c.newUpdating(args, updateOptions)
		if err != nil {
			return err
		}
		if err := u.open(); err != nil {
			return err
		}
		err = u.store(u.read(args))
		if !u.gone || tries == replacedTries {
			return err
		}
	}
}

func (c *command) newUpdating(args []string, known []option) (*updating, []string, error) {
	u := &updating{command: c}
	args, err := parse(args, known, func(name, arg string) error {
		switch name {
		case "template":
			u.template, u.given = arg, true
		case "skip-past-updates":
			u.batch.SkipPast = true
		case "locking":
			if arg != "try" && arg != "block" && arg != "none" {
				return fmt.Errorf("unsupported locking mode '%s': want try, block or none", arg)
			}
		case "daemon":
			return c.daemon(arg)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(args) < 2 {
		return nil, nil, errors.New("Not enough arguments")
	}
	u.name = args[0]
	return u, args[1:], nil
}

// open finds the series and fits the template to it.
func (u *updating) open() error {
	series, err := u.series(u.name)
	if err != nil {
		return err
	}
	u.ref, u.d = series.Ref, series.Definition
	l := &u.layout
	byName := make(map[string]target, len(u.d.Sources))
	for i := range u.d.Sources {
		s := &u.d.Sources[i]
		t := target{s.Kind, -1}
		if s.Kind != rra.Compute {
			t.input = l.values
			l.values++
			if !u.given {
				l.takes = append(l.takes, t)
			}
		}
		byName[s.Name] = t
	}
	if !u.given {
		return nil
	}
	for i, name := range strings.Split(u.template, ":") {
		if i == len(u.d.Sources) {
			return errors.New("tmplt contains more DS definitions than RRD")
		}
		t, ok := byName[name]
		if !ok {
			return fmt.Errorf("unknown DS name '%s'", name)
		}
		l.takes = append(l.takes, t)
	}
	return nil
}

// read reads samples into the batch until one does not parse.
func (u *updating) read(args []string) error {
	for _, arg := range args {
		if err := u.sample(arg); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
	}
	return nil
}

// sample reads one sample.
func (u *updating) sample(arg string) error {
	var texts []string
	when, relative, values, err := u.layout.sample([]byte(arg), nil, &texts)
	if err != nil {
		return err
	}
	at, sec, err := u.when(string(when), relative)
	if err != nil {
		return err
	}
	u.at = append(u.at, sec)
	u.batch.AddText(u.ref, at, values, texts)
	return nil
}

// sample reads a sample, TIME:VALUE… or AT-TIME@VALUE…. It appends the values that the engine takes
// and their texts, and returns the text of the time, which may be relative. A value that does not
// parse is an error only when it is used; the value records that.
func (l *layout) sample(word []byte, values []rra.Value, texts *[]string) (when []byte, relative bool, _ []rra.Value, err error) {
	end := bytes.IndexByte(word, '@')
	if relative = end >= 0; !relative {
		if end = bytes.IndexByte(word, ':'); end < 0 {
			return nil, false, values, fmt.Errorf("expected timestamp not found in data source from %s", word)
		}
	}
	when, rest := word[:end], word[end+1:]
	first, before := len(values), uint64(len(*texts))
	for range l.values {
		values = append(values, rra.Unknown)
	}
	more := true
	for i := range l.takes {
		if !more {
			return nil, false, values, fmt.Errorf("expected %d data source readings (got %d) from %s", len(l.takes), i, when)
		}
		text := rest
		end = bytes.IndexByte(rest, ':')
		if more = end >= 0; more {
			text, rest = rest[:end], rest[end+1:]
		}
		if t := &l.takes[i]; t.input >= 0 {
			v := rra.ParseReading(t.kind, text, texts)
			if v.Tag >= rra.TagText {
				v.Bits -= before
			}
			values[first+t.input] = v
		}
	}
	if more {
		return nil, false, values, fmt.Errorf("found extra data on update argument: %s", rest)
	}
	return when, relative, values, nil
}

// The first and the last second that a sample can have.
const (
	minSecond = -maxSecond
	maxSecond = int64(core.MaxTime)/1_000_000 - 1
)

// when reads the time of a sample. sec is the time in seconds as rrdtool calculates it.
func (u *updating) when(text string, relative bool) (at rra.Time, sec int64, err error) {
	micro := int64(0)
	switch {
	case relative:
		if u.reader == nil {
			u.reader = attime.NewReader(u.now())
		}
		sec, err = u.reader.Instant(text)
		if errors.Is(err, attime.ErrRelative) {
			return 0, 0, fmt.Errorf("%w: %s", err, text)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("ds time: %s: %w", text, err)
		}
	case text == "N":
		now := rra.TimeOf(u.now())
		sec, micro = now.Unix(), now.Micro()
	default:
		v, err := rra.ParseNumber(text)
		if err != nil {
			return 0, 0, fmt.Errorf("error while parsing time in get_time_from_reading - %w", err)
		}
		if v < 0 {
			now := u.now()
			v += float64(now.Unix()) + float64(now.Nanosecond()/1000)/1e6
		}
		sec = second(math.Floor(v))
		micro = int64((v - math.Floor(v)) * 1e6)
	}
	if sec > maxSecond {
		return 0, 0, fmt.Errorf("time %d is later than a series can hold", sec)
	}
	return rra.Seconds(max(sec, minSecond)) + rra.Time(micro), sec, nil
}

// second converts as x86 processors do: a number that does not fit becomes the smallest integer.
func second(v float64) int64 {
	if !(v >= math.MinInt64 && v < math.MaxInt64) {
		return math.MinInt64
	}
	return int64(v)
}

// store stores the samples that were read. then is the error that stopped the reading, or nil.
func (u *updating) store(then error) error {
	if u.batch.Len() == 0 {
		return then
	}
	u.batch.Stopped = then != nil
	n, err := u.Store.Update(u.ctx, u.ref, &u.batch)
	if r, ok := err.(*core.RejectedError); ok && u.batch.SkipPast && len(r.First) == 0 {
		err = nil // all rejected samples were skipped by --skip-past-updates
	}
	if err != nil {
		return u.refused(n, err)
	}
	return then
}

// refused returns rrdtool's error for sample n, which the store has refused with err.
func (u *updating) refused(n int, err error) error {
	u.gone = errors.Is(err, core.ErrNotFound)
	if late, ok := errors.AsType[*rra.TimeError](err); ok && n < len(u.at) && late.At.Unix() == max(u.at[n], minSecond) {
		return tooLate(u.name, u.at[n], late)
	}
	return named(u.name, refusal(u.name, err))
}

// refusal returns rrdtool's error for a sample that the store has refused with err.
func refusal(name string, err error) error {
	if late, ok := errors.AsType[*rra.TimeError](err); ok {
		return tooLate(name, late.At.Unix(), late)
	}
	if value, ok := errors.AsType[*rra.ValueError](err); ok {
		return fmt.Errorf("%s: %w", name, value.Err)
	}
	return err
}

// tooLate returns rrdtool's error for a sample that is not after the last one. at is its time in
// seconds, as it was given.
func tooLate(name string, at int64, late *rra.TimeError) error {
	return fmt.Errorf("%s: illegal attempt to update using time %d when last update time is %d (minimum one second step)", name, at, late.Last.Unix())
}

// updatev stores samples and prints the rows that they close. It finds these rows by stepping a
// copy of the state, because a store does not report the rows of SEASONAL archives.
func (c *command) updatev(args []string) error {
	u, args, err := c.newUpdating(args, updatevOptions)
	if err != nil {
		return err
	}
	var t *trace
	err = u.open()
	if err == nil {
		then := u.read(args)
		var info core.Info
		if info, err = u.Store.Info(u.ref); err == nil {
			t = &trace{out: c.out, locale: &c.locale, exact: c.exact, m: info.Machine, state: info.State.Clone()}
			if err = t.check(u); err == nil {
				err = u.store(then)
			}
		} else {
			err = named(u.name, err)
		}
	}
	value := 0
	if t != nil && errors.Is(err, errTraced) {
		t = nil
	}
	if err != nil {
		value = -1
	}
	c.printf("return_value = %d\n", value)
	if t == nil {
		return err
	}
	return cmp.Or(err, t.run(u))
}

// A trace follows samples through a copy of the state and prints the rows that they close.
type trace struct {
	out    *bufio.Writer
	locale *locale
	exact  bool // print values in full
	m      *rra.Machine
	state  rra.State
	runs   []rra.Run
	ring   []float64
	line   []byte
}

// errTraced says that a command would print too many values.
var errTraced = errors.New("too many values of closed rows to print")

// check refuses a command that would print more values than a fetch may return. It runs before
// anything is stored.
func (t *trace) check(u *updating) error {
	if n := t.count(u, t.m.LastUpdate(t.state.W)); n > core.MaxFetchRows {
		return fmt.Errorf("%s: %w: %d, at most %d are possible (update stores the same and prints nothing)", u.name, errTraced, n, core.MaxFetchRows)
	}
	return nil
}

// count returns how many values run prints at most. It stops counting when there are too many.
func (t *trace) count(u *updating, last rra.Time) (n int64) {
	add := func(from, to, after, at int64) error {
		for i := range t.m.Definition().Archives {
			n += t.rows(i, from, to) * int64(len(t.m.Definition().Sources))
		}
		return nil
	}
	for x := range u.batch.All() {
		if n > core.MaxFetchRows {
			return n
		}
		if x.At <= last {
			if u.batch.SkipPast {
				continue
			}
			return n
		}
		_ = t.phases(last, x.At, add) // add does not fail
		last = x.At
	}
	return n
}

// run steps the samples of u up to the first that is refused, and prints the rows.
func (t *trace) run(u *updating) error {
	for x := range u.batch.All() {
		last := t.m.LastUpdate(t.state.W)
		var err error
		t.runs, err = t.m.Step(&t.state, x.At, x.Values, x.Texts, t.runs[:0])
		if _, late := err.(*rra.TimeError); late && u.batch.SkipPast {
			continue
		}
		if err != nil {
			break
		}
		if err := t.phases(last, x.At, t.phase); err != nil {
			return err
		}
	}
	return nil
}

// phases calls phase with the steps between two samples. If there are several, the open primary
// data point is closed in a phase of its own.
func (t *trace) phases(last, at rra.Time, phase func(from, to, after, at int64) error) error {
	step := t.m.Definition().Step
	from, to := floorDiv(last.Unix(), step), floorDiv(at.Unix(), step)
	if from == to {
		return nil
	}
	if to-from > 1 {
		whole := float64(to*step-last.Unix()) - float64(last.Micro())/1e6
		if part := int64(whole) % step; part > 0 {
			if err := phase(from, from+1, to-from-1, last.Unix()+part); err != nil {
				return err
			}
			from++
		}
	}
	return phase(from, to, 0, at.Unix())
}

// rows returns how many rows of an archive rrdtool prints when it closes the steps between from and
// to at once. It prints no seasonal rows for a gap.
func (t *trace) rows(archive int, from, to int64) int64 {
	a := &t.m.Definition().Archives[archive]
	elapsed, open := to-from, a.PDPs-mod(from, a.PDPs)
	if elapsed < open || t.m.StreamOf(archive) < 0 && elapsed > 1 {
		return 0
	}
	return min((elapsed-open)/a.PDPs+1, a.Rows)
}

// phase prints the rows of the steps between from and to, which rrdtool closes at once. after is
// the number of steps that follow in another phase. at is the time at which rrdtool lets the phase
// end: it counts the time of the first row back from there, and the times of the other rows one row
// too far.
func (t *trace) phase(from, to, after, at int64) error {
	d := t.m.Definition()
	for i := range d.Archives {
		a := &d.Archives[i]
		rows, stream := t.rows(i, from, to), t.m.StreamOf(i)
		step := d.Step * a.PDPs
		first, shown := floorDiv(to, a.PDPs)-rows+1, at-mod(at, step)-(rows-1)*step
		for row := range rows {
			if row == 1 {
				shown += step
			}
			for ds := range d.Sources {
				v := t.value(i, stream, ds, first+row, after)
				t.line = fmt.Appendf(t.line[:0], "[%d]RRA[%s][%d]DS[%s] = ", shown, a.CF, a.PDPs, d.Sources[ds].Name)
				if t.exact {
					t.line = appendExact(t.line, v)
				} else {
					n := len(t.line)
					t.line = t.locale.local(append(t.line, infoValue(v)...), n)
				}
				t.line = append(t.line, '\n')
				if _, err := t.out.Write(t.line); err != nil {
					return err
				}
			}
			shown += step
		}
	}
	return nil
}

// value returns the value of row k of an archive. Seasonal rows are in the state. A gap moves their
// ring forward by after rows without writing, at most a whole turn.
func (t *trace) value(archive, stream, ds int, k, after int64) float64 {
	if stream < 0 {
		t.ring = t.m.RingRow(&t.state, archive, ds, t.ring[:0])
		n := int64(len(t.ring))
		return t.ring[mod(n-1-min(after, n), n)]
	}
	for i := len(t.runs) - 1; i >= 0; i-- {
		r := &t.runs[i]
		if int(r.Stream) == stream && int(r.DS) == ds && k >= r.First && k < r.First+r.Count {
			return r.Value
		}
	}
	return math.NaN()
}

func floorDiv(a, b int64) int64 { return (a - mod(a, b)) / b }

func mod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}
