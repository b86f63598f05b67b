package collectd

import (
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// newcomers are value lists of series that are not in the cache. They wait, in order, until the
// datagrams at hand are read. Then their series are resolved together: one wait for the store
// instead of one for each series.
type newcomers struct {
	lists []newcomer
	bytes int
	since time.Time       // when the first of them came
	byKey map[string]int  // key of a list → its request
	pause receivers.Pause // while it lasts all newcomers are shed
}

type newcomer struct {
	ValueList
	request int
}

// add copies v.
func (n *newcomers) add(v *ValueList, now time.Time) {
	if len(n.lists) == 0 {
		n.since = now
	}
	l := newcomer{ValueList: v.Clone()}
	l.changed = ofFirst | ofAll // it is looked up later, after another list than now
	n.lists = append(n.lists, l)
	n.bytes += len(v.Raw) + 128
}

func (n *newcomers) full() bool {
	return len(n.lists) >= receivers.MaxNewcomers || n.bytes >= receivers.MaxNewcomerBytes
}

func (n *newcomers) reset() {
	clear(n.lists)
	n.lists, n.bytes = n.lists[:0], 0
	clear(n.byKey)
}
