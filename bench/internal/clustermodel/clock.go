package clustermodel

import "container/heap"

// A clock is virtual. It calls functions in the order of their times; functions with the same time
// in the order in which they were given.
type clock struct {
	now    float64
	given  int64
	events events
}

type event struct {
	at    float64
	given int64
	do    func()
}

// at calls do at a time, which is now or later.
func (c *clock) at(when float64, do func()) {
	c.given++
	heap.Push(&c.events, event{max(when, c.now), c.given, do})
}

// after calls do when some time has passed.
func (c *clock) after(wait float64, do func()) { c.at(c.now+wait, do) }

// run goes on until a time, or until nothing is left to do.
func (c *clock) run(until float64) {
	for len(c.events) > 0 && c.events[0].at <= until {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
}

// events are a heap.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].given < e[j].given
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}
