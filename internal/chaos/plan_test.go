package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// A fault is something that goes wrong on a machine or between two, for a time.
type fault struct {
	at      time.Duration // after the round has begun
	kind    string
	machine int // all for allMachines
	other   int // of a link between servers
	lasts   time.Duration
}

const allMachines = -1

func (f fault) String() string {
	where := "all machines"
	if f.machine != allMachines {
		where = fmt.Sprintf("machine %d", f.machine+1)
	}
	if f.other != f.machine {
		where += fmt.Sprintf(" and %d", f.other+1)
	}
	return fmt.Sprintf("%6.1fs %s, %s, for %.1fs", f.at.Seconds(), f.kind, where, f.lasts.Seconds())
}

// The kinds of faults.
const (
	killServer    = "kill server"
	killNode      = "kill node"
	pauseServer   = "stop and continue server"
	pauseNode     = "stop and continue node"
	restartServer = "end server by SIGTERM"
	restartNode   = "end node by SIGTERM"
	cutNode       = "cut node off from servers"
	cutServers    = "cut servers off from each other"
	cutMachine    = "cut machine off"
	cutPeers      = "cut node off from other nodes"
	holdMachine   = "pull the cable of a machine"
	reset         = "reset connections"
	powerCut      = "power cut"
	diskFull      = "disk full"
	wipe          = "wipe the disk"
	flip          = "flip a bit in a server's file"
)

// A choice is a kind of fault, with how often it is chosen.
type choice struct {
	kind   string
	weight int
	longer time.Duration // it lasts up to this long
}

var choices = []choice{
	{killServer, 4, 6 * time.Second},
	{killNode, 5, 6 * time.Second},
	{pauseServer, 3, 12 * time.Second},
	{pauseNode, 3, 12 * time.Second},
	{restartServer, 2, 3 * time.Second},
	{restartNode, 2, 3 * time.Second},
	{cutNode, 3, 12 * time.Second},
	{cutServers, 3, 12 * time.Second},
	{cutMachine, 2, 12 * time.Second},
	{cutPeers, 2, 12 * time.Second},
	{holdMachine, 2, 12 * time.Second},
	{reset, 2, 0},
}

// onPowerCuts are more choices where disks lose what was not synced.
var onPowerCuts = []choice{{powerCut, 6, 4 * time.Second}, {diskFull, 3, 10 * time.Second}}

// newPlan returns the faults of a round. They overlap, and none is on a machine that another one is
// on, but for faults of all machines.
func newPlan(random *rand.Rand, lasts time.Duration, cuts bool) (plan []fault) {
	all := choices
	if cuts {
		all = slices.Concat(all, onPowerCuts)
	}
	var busy [localcluster.Machines]time.Duration
	for at := 2 * time.Second; at < lasts-2*time.Second; at += time.Second + upTo(random, 6*time.Second) {
		c := choose(random, all)
		f := fault{at: at, kind: c.kind, machine: random.IntN(localcluster.Machines), lasts: 500 * time.Millisecond}
		if c.longer > 0 {
			f.lasts += upTo(random, c.longer)
		}
		f.other = f.machine
		if c.kind == cutServers {
			f.other = (f.machine + 1 + random.IntN(localcluster.Machines-1)) % localcluster.Machines
		}
		if random.IntN(12) == 0 && c.kind != diskFull {
			f.machine, f.other = allMachines, allMachines
		}
		if f.at+f.lasts > lasts {
			continue
		}
		if m := f.machine; m != allMachines {
			if busy[m] > f.at {
				continue
			}
			busy[m] = f.at + f.lasts
		} else {
			if slices.Max(busy[:]) > f.at {
				continue
			}
			for i := range busy {
				busy[i] = f.at + f.lasts
			}
			at += f.lasts
		}
		plan = append(plan, f)
	}
	return plan
}

func choose(random *rand.Rand, all []choice) choice {
	sum := 0
	for _, c := range all {
		sum += c.weight
	}
	n := random.IntN(sum)
	for _, c := range all {
		if n -= c.weight; n < 0 {
			return c
		}
	}
	panic("the weights have another sum")
}

// text returns a plan as lines.
func text(plan []fault) string {
	var b strings.Builder
	for _, f := range plan {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// upTo returns a random time below d.
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}
