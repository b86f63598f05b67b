package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// stopTime is how long a program may take to end by SIGTERM until it is killed.
const stopTime = 30 * time.Second

// disableTime is how long a server takes to disable JetStream, once its disk was full: it hands on
// what it leads first.
const disableTime = 4 * time.Second

// carryOut carries a plan out. It returns when all that was broken is mended, and that is soon if
// ctx ends.
func (h *harness) carryOut(ctx context.Context, plan []fault) {
	began := time.Now()
	var running sync.WaitGroup
	defer running.Wait()
	for _, f := range plan {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(f.at))):
		}
		h.counts.fault(f.kind)
		h.logf("%v", f)
		running.Go(func() { h.fault(ctx, f) })
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fault breaks something, waits, and mends it.
func (h *harness) fault(ctx context.Context, f fault) {
	machines := []int{f.machine}
	if f.machine == allMachines {
		machines = []int{0, 1, 2}
	}
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for _, i := range machines {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	set := func(s linkState) {
		for _, l := range h.linksOf(f, machines) {
			l.set(s)
		}
	}
	switch f.kind {
	case killServer, killNode, restartServer, restartNode:
		processes := h.c.Nodes
		if f.kind == killServer || f.kind == restartServer {
			processes = h.c.Servers
		}
		each(func(i int) {
			if f.kind == killServer || f.kind == killNode {
				processes[i].Kill()
			} else if !processes[i].Terminate(stopTime) {
				h.counts.note("killed for it did not end by SIGTERM within 30 s: " + processes[i].Name)
			}
		})
		pause(ctx, f.lasts)
		each(func(i int) { h.start(processes[i]) })
	case pauseServer, pauseNode:
		processes := h.c.Nodes
		if f.kind == pauseServer {
			processes = h.c.Servers
		}
		each(func(i int) { processes[i].Stop() })
		pause(ctx, f.lasts)
		each(func(i int) { processes[i].Continue() })
	case holdMachine:
		set(held)
		pause(ctx, f.lasts)
		set(through)
	case reset:
		for _, l := range h.linksOf(f, machines) {
			l.reset()
		}
	case powerCut:
		each(h.cutPower)
		pause(ctx, f.lasts)
		each(h.powerOn)
	case diskFull:
		each(func(i int) { h.disk(i, "full") })
		pause(ctx, f.lasts)
		each(func(i int) { h.disk(i, "room") })
		pause(ctx, disableTime)
		each(func(i int) { h.enable(i) })
	default: // cuts
		set(refused)
		pause(ctx, f.lasts)
		set(through)
	}
}

// linksOf returns the links that a fault of some machines concerns.
func (h *harness) linksOf(f fault, machines []int) (all []*link) {
	add := func(from, to string) {
		if l := h.links[[2]string{from, to}]; l != nil {
			all = append(all, l)
		}
	}
	server := func(i int) string { return h.c.Servers[i].Name }
	node := func(i int) string { return h.c.Nodes[i].Name }
	for _, i := range machines {
		if f.kind == cutServers && f.other != f.machine {
			add(server(i), server(f.other))
			add(server(f.other), server(i))
			continue
		}
		if f.kind == cutPeers || f.kind == cutMachine || f.kind == holdMachine || f.kind == reset {
			add("", node(i))
		}
		for j := range localcluster.Machines {
			between := f.kind == holdMachine || f.kind == cutMachine || f.kind == reset
			if f.kind == cutNode || between && i != j {
				add(node(i), server(j))
			}
			if between && i != j {
				add(node(j), server(i))
			}
			if between || f.kind == cutServers {
				add(server(i), server(j))
				add(server(j), server(i))
			}
		}
	}
	return all
}

// start starts a process again.
func (h *harness) start(p *localcluster.Process) {
	if err := p.Start(); err != nil {
		h.counts.wrong(err.Error())
	}
}

func (h *harness) cutPower(i int) {
	var all sync.WaitGroup
	all.Go(h.c.Nodes[i].Kill)
	all.Go(h.c.Servers[i].Kill)
	all.Wait()
	h.disk(i, "cut")
}

// enableAll is enable for all machines, when nothing else is broken: a server that was stopped or
// out of reach could not be asked before.
func (h *harness) enableAll() {
	for i := range localcluster.Machines {
		if h.enable(i) {
			continue
		}
		h.logf("the server of machine %d runs and does not answer: it is killed and started again", i+1)
		h.counts.note("a server of NATS hung that nothing was done to")
		h.c.Servers[i].Kill()
		h.start(h.c.Servers[i])
	}
}

// enable starts the server of a machine again if its disk was full for so long that it has disabled
// JetStream, as its operator has to. It reports whether the server answers.
func (h *harness) enable(i int) bool {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get(h.c.Monitor[i] + "/jsz")
	if err != nil {
		return false
	}
	defer func() { _ = r.Body.Close() }() // it was read
	var v struct {
		Disabled bool `json:"disabled"`
	}
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		h.counts.wrong(fmt.Sprintf("server of machine %d: %v", i+1, err))
		return true
	}
	if !v.Disabled {
		return true
	}
	h.logf("the server of machine %d has disabled JetStream: it is started again", i+1)
	h.c.Servers[i].Terminate(30 * time.Second)
	h.start(h.c.Servers[i])
	return true
}

func (h *harness) powerOn(i int) {
	h.start(h.c.Servers[i])
	h.start(h.c.Nodes[i])
}
