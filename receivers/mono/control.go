package mono

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// counterColumns are the columns that commands print of a counter.
var counterColumns = []string{"category", "name", "index", "type", "unit", "variance"}

func counterRow(c *Counter) []string {
	return []string{
		c.Category.String(), receivers.Text([]byte(c.Name)), strconv.Itoa(int(c.Index)), c.Type.String(), c.Unit.String(), c.Variance.String(),
	}
}

// Control runs one of the commands peers, list PEER, add PEER CATEGORY/NAME and remove PEER
// CATEGORY/NAME or INDEX.
func (s *server) Control(ctx context.Context, args []string) (receivers.Table, error) {
	usage := map[string]string{"peers": "", "list": "PEER", "add": "PEER CATEGORY/NAME", "remove": "PEER CATEGORY/NAME|INDEX"}
	if len(args) == 0 {
		return receivers.Table{}, errors.New("no command: want peers, list, add or remove")
	}
	want, ok := usage[args[0]]
	if !ok {
		return receivers.Table{}, fmt.Errorf("command %q is none of peers, list, add, remove", args[0])
	}
	if n := len(strings.Fields(want)); len(args) != 1+n {
		return receivers.Table{}, fmt.Errorf("want %s", strings.TrimSpace(args[0]+" "+want))
	}
	if args[0] == "peers" {
		return s.table(), nil
	}
	a, err := s.peer(args[1])
	if err != nil {
		return receivers.Table{}, err
	}
	var t receivers.Table
	var c Counter
	switch args[0] {
	case "list":
		t, err = a.controlList(ctx)
	case "add":
		c, err = a.controlAdd(ctx, args[2])
	case "remove":
		c, err = a.controlRemove(ctx, args[2])
	}
	if t.Columns == nil {
		t = receivers.Table{Columns: counterColumns, Rows: [][]string{counterRow(&c)}}
	}
	if err != nil {
		return receivers.Table{}, fmt.Errorf("agent %s: %w", a.Peer, err)
	}
	return t, nil
}

// table is the answer to peers.
func (s *server) table() receivers.Table {
	t := receivers.Table{Columns: []string{"peer", "since", "counters", "samples", "last"}}
	s.mu.Lock()
	agents := slices.SortedFunc(maps.Values(s.peers), func(a, b *agent) int { return strings.Compare(a.Peer, b.Peer) })
	s.mu.Unlock()
	for _, a := range agents {
		t.Rows = append(t.Rows, a.row())
	}
	return t
}

func (a *agent) row() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, r := range a.dec.Readings() {
		if !r.Removed {
			n++
		}
	}
	last := ""
	if a.last != 0 {
		last = a.last.Std().UTC().Format(time.RFC3339Nano)
	}
	return []string{
		a.Peer, a.since.UTC().Format(time.RFC3339), strconv.Itoa(n), strconv.FormatUint(a.samples, 10), last,
	}
}

// peer returns the agent of a name. "" means the only agent that is connected.
func (s *server) peer(name string) (*agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.peers[name]
	if ok {
		return a, nil
	}
	names := slices.Sorted(maps.Keys(s.peers))
	switch {
	case len(names) == 0:
		return nil, errors.New("no agent is connected")
	case name == "" && len(names) == 1:
		return s.peers[names[0]], nil
	case len(names) > 10:
		names = append(names[:10], "…")
	}
	if name == "" {
		return nil, fmt.Errorf("several agents are connected: %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("no agent %q is connected, but %s", name, strings.Join(names, ", "))
}

// controlList asks the agent which counters it has. The table also shows what is known about those
// that it samples.
func (a *agent) controlList(ctx context.Context) (receivers.Table, error) {
	ans, err := a.answer(ctx, Request{Command: ListRequest}, "")
	if err != nil {
		return receivers.Table{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := receivers.Table{Columns: append(slices.Clone(counterColumns), "value")}
	for _, p := range ans.pairs {
		category, name := p.Counter(a.s.set.dialect)
		if r := a.reading(wanted{category, name}); r != nil {
			t.Rows = append(t.Rows, append(counterRow(&r.Counter), r.text()))
			continue
		}
		row := make([]string, len(t.Columns))
		row[0], row[1] = receivers.Text([]byte(category)), receivers.Text([]byte(name))
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// text returns the value as a text; empty: there is no value.
func (r *Reading) text() string {
	switch {
	case !r.Known:
		return ""
	case r.Type == Double:
		return strconv.FormatFloat(math.Float64frombits(r.Bits), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(r.Bits), 10)
}

// controlAdd asks the agent for one more counter.
func (a *agent) controlAdd(ctx context.Context, arg string) (Counter, error) {
	w, err := parseWanted(arg)
	if err != nil {
		return Counter{}, err
	}
	ans, err := a.answer(ctx, Request{Command: AddRequest, Category: w.category, Name: w.name}, strconv.Quote(w.String()))
	return ans.counter, err
}

// answer asks the agent and waits for its answer. what is the counter that it may refuse.
func (a *agent) answer(ctx context.Context, r Request, what string) (answer, error) {
	q, err := a.ask(r, false)
	if err != nil {
		return answer{}, err
	}
	ans, err := q.wait(ctx, a.s.answerTime)
	if err == nil {
		err = refusal(ans.status, what)
	}
	return ans, err
}

// refusal returns the error for a status; nil if it is OK.
func refusal(s Status, what string) error {
	switch s {
	case OK:
		return nil
	case NotFound:
		return fmt.Errorf("there is no counter %s (not found)", what)
	case Existing:
		return fmt.Errorf("%s is sampled already (existing)", what)
	}
	return fmt.Errorf("%s is refused (%v)", what, s)
}

// controlRemove asks the agent to sample a counter no longer.
func (a *agent) controlRemove(ctx context.Context, arg string) (Counter, error) {
	c, err := a.sampled(arg)
	if err == nil {
		_, err = a.answer(ctx, Request{Command: RemoveRequest, Index: c.Index}, arg)
	}
	return c, err
}

// sampled returns the counter that arg names, by its index or as CATEGORY/NAME.
func (a *agent) sampled(arg string) (Counter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	index, err := strconv.ParseInt(arg, 10, 16)
	if err != nil {
		w, err := parseWanted(arg)
		if err != nil {
			return Counter{}, fmt.Errorf("%q is neither CATEGORY/NAME nor an index", arg)
		}
		if r := a.reading(w); r != nil {
			return r.Counter, nil
		}
		return Counter{}, fmt.Errorf("%q is not sampled", w)
	}
	if index < 0 { // an agent of 2014 would crash
		return Counter{}, fmt.Errorf("index %d is negative", index)
	}
	if i, ok := a.dec.at[int16(index)]; ok {
		return a.dec.Readings()[i].Counter, nil
	}
	return Counter{}, fmt.Errorf("no counter with the index %d is sampled", index)
}
