package operate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// A Severity says how bad a problem is.
type Severity int

// Severities of problems.
const (
	Error   Severity = iota // series cannot be updated or read, or replicas differ
	Warning                 // the loss of one more node may do that
	Info                    // nothing is wrong
)

func (s Severity) String() string { return [...]string{"error", "warning", "info"}[s] }

// A Problem is something wrong, or something that goes on, in words.
type Problem struct {
	Severity Severity
	Text     string
	silence  bool // follows from nodes that are silent
}

// judge finds what is wrong.
func (s *State) judge(v *coord.View) {
	switch {
	case len(s.Partitions) > 0:
	case v.Traces:
		s.add(Error, "%v", coord.ErrMapLost)
	default:
		s.add(Error, "there is no cluster yet: nobody has made the map of partitions")
	}
	s.judgeLeaders()
	s.judgeReplicas()
	s.judgeNodes()
	s.judgeDisks(v)
	for _, err := range v.Problems {
		s.add(Warning, "%v", err)
	}
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
}

// Add notes a problem that the view does not show.
func (s *State) Add(severity Severity, format string, args ...any) {
	s.add(severity, format, args...)
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
}

func (s *State) add(severity Severity, format string, args ...any) {
	s.Problems = append(s.Problems, Problem{Severity: severity, Text: fmt.Sprintf(format, args...)})
}

// addSilence is add for what follows from nodes that are silent. It is not known while no node can
// announce itself.
func (s *State) addSilence(severity Severity, format string, args ...any) {
	s.add(severity, format, args...)
	s.Problems[len(s.Problems)-1].silence = true
}

// muted takes back what follows from nodes that are silent: no node could announce itself.
func (s *State) muted() {
	s.doubtSilence("no node can announce itself while no nats-server leads the map of partitions, so nodes that are silent may live: they are read as they were heard last")
}

// Unheard notes that the node which was asked cannot announce itself: it does not know whether
// nodes live that are silent. After AddLogServers, which may have said so.
func (s *State) Unheard(node string, why error) {
	s.doubtSilence("node %s cannot announce itself, so it does not know whether nodes live that are silent: %v", node, why)
}

// doubtSilence puts an error in the place of what follows from nodes that are silent, if there is
// any such thing.
func (s *State) doubtSilence(format string, args ...any) {
	n := len(s.Problems)
	if s.Problems = slices.DeleteFunc(s.Problems, func(p Problem) bool { return p.silence }); len(s.Problems) < n {
		s.Add(Error, format, args...)
	}
}

// blame notes what is wrong with a partition.
func (p *Partition) blame(format string, args ...any) {
	if p.Problem != "" {
		p.Problem += "; "
	}
	p.Problem += fmt.Sprintf(format, args...)
}

// judgeLeaders finds partitions that nobody leads.
func (s *State) judgeLeaders() {
	var none, dead []int
	elects := make(map[string][]int)
	for i := range s.Partitions {
		p := &s.Partitions[i]
		lives := slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.State != OfSilent && r.State != Missing })
		switch {
		case p.Leader != "":
		case slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Lost && r.State != OfSilent }):
			p.blame("its log has lost records")
			s.judgeLost(i, p)
		case p.Elect != "":
			elects[p.Elect] = append(elects[p.Elect], i)
			p.blame("%s is about to lead", p.Elect)
		case lives:
			none = append(none, i)
			p.blame("no leader")
		default:
			dead = append(dead, i)
			p.blame("no replica is on a node that lives")
		}
	}
	if len(dead) > 0 {
		s.addSilence(Error, "%s cannot be read nor updated: no replica is on a node that lives", subject(dead, "partition", "partitions"))
	}
	if len(none) > 0 {
		s.add(Error, "%s no leader: updates wait", subject(none, "partition", "partitions", "has", "have"))
	}
	for _, name := range sorted(elects) {
		s.add(Error, "node %s is about to lead %s: updates wait", name, subject(elects[name], "partition", "partitions"))
	}
}

// judgeLost names the replica that may begin the log of a partition anew: of those that can be used
// the one that holds most.
func (s *State) judgeLost(i int, p *Partition) {
	var most Replica
	for _, r := range p.Replicas {
		if (r.State == Current || r.State == Behind) && (most.Node == "" || r.Position > most.Position) {
			most = r
		}
	}
	s.add(Error, "the servers of NATS have lost records of partition %[1]d: updates wait until rondo cluster mend --log %[1]d %[2]s lets the replica on node %[2]s, which holds most, begin the log anew; start all of its nodes before",
		i, most.Node)
}

// judgeReplicas finds partitions whose replicas are not as they should be, and moves.
func (s *State) judgeReplicas() {
	behind, lag, why := make(map[string][]int), make(map[string]uint64), make(map[string]string)
	outdated := make(map[string][]int)
	few := make(map[int][]int) // partitions by the number of their replicas
	quiet := false             // a replica is on a node that is silent
	for i := range s.Partitions {
		p := &s.Partitions[i]
		good := 0
		for _, r := range p.Replicas {
			quiet = quiet || r.State == OfSilent
			moving := p.Move != nil && p.Move.To == r.Node
			switch r.State {
			case Quarantined:
				s.add(Error, "the replica of partition %d on node %s serves nothing, and is made anew: %s", i, r.Node, r.Reason)
				p.blame("%s is quarantined", r.Node)
			case Halted:
				p.blame("%s is halted", r.Node)
				if r.Outdated {
					outdated[r.Node] = append(outdated[r.Node], i)
					continue
				}
				s.add(Warning, "the replica of partition %d on node %s cannot follow the log", i, r.Node)
			case Behind:
				if !moving {
					behind[r.Node] = append(behind[r.Node], i)
					lag[r.Node] = max(lag[r.Node], r.Lag)
					if r.Reason != "" {
						why[r.Node] = ": " + r.Reason
					}
					p.blame("%s is behind", r.Node)
					good++
				}
			case Leads, Current:
				if !moving {
					good++
				}
			}
		}
		if good < s.Replicas {
			few[good] = append(few[good], i)
			p.blame("%d of %d replicas", good, s.Replicas)
		}
		s.judgeMove(i, p)
	}
	for _, n := range sorted(few) {
		s.add(Warning, "%s %d of %d replicas", subject(few[n], "partition", "partitions", "has", "have"), n, s.Replicas)
		s.Problems[len(s.Problems)-1].silence = quiet
	}
	for _, name := range sorted(outdated) {
		s.add(Warning, "the rondo of node %s is too old for what newer nodes write: %s halted on it; install their version on the node and restart it",
			name, subject(outdated[name], "partition", "partitions", "is", "are"))
	}
	for _, name := range sorted(behind) {
		by := ""
		if lag[name] > 0 {
			by = fmt.Sprintf(", by up to %d records", lag[name])
		}
		s.add(Warning, "node %s is behind in %s%s%s", name, subject(behind[name], "partition", "partitions"), by, why[name])
	}
}

func (s *State) judgeMove(i int, p *Partition) {
	switch {
	case p.Move == nil:
	case p.Move.From == "":
		s.add(Info, "partition %d gets a replica on node %s", i, p.Move.To)
	default:
		s.add(Info, "partition %d moves from node %s to node %s", i, p.Move.From, p.Move.To)
	}
}

// judgeNodes finds nodes that are not as they should be.
func (s *State) judgeNodes() {
	stay := 0
	versions := make(map[string][]string)
	for _, n := range s.Nodes {
		if n.State == Live || n.State == Stopping {
			stay++
		}
		if n.State != Gone && n.State != Left && n.State != Silent {
			versions[n.Version] = append(versions[n.Version], n.Name)
		}
		s.judgeNode(n)
	}
	if len(s.Partitions) > 0 && stay < s.Replicas {
		s.addSilence(Warning, "%s may keep replicas, and partitions are to have %d: start more nodes", count(stay, "node", "nodes"), s.Replicas)
	}
	if len(versions) > 1 {
		var parts []string
		for _, v := range sorted(versions) {
			parts = append(parts, fmt.Sprintf("%s (%s)", v, strings.Join(versions[v], ", ")))
		}
		s.add(Info, "nodes run different versions: %s", strings.Join(parts, ", "))
	}
}

// judgeDisks finds nodes whose disk is full, and replicas whose database is damaged.
func (s *State) judgeDisks(v *coord.View) {
	for _, name := range sorted(v.Members) {
		m := v.Members[name]
		if m.Live && m.DiskFull != "" {
			s.add(Warning, "the disk of node %s is full (%s): its replicas stop when their memory is used up, and none moves to it; make room on it", name, m.DiskFull)
		}
		for _, st := range m.Partitions {
			if m.Live && st.Damaged && st.Quarantine == "" {
				s.add(Warning, "the replica of partition %d on node %s is damaged: it is made anew once another one is current and has no damage", st.Partition, name)
			}
		}
	}
}

func (s *State) judgeNode(n Node) {
	silent := n.Silent.Round(time.Second)
	switch n.State {
	case Silent:
		s.addSilence(Warning, "node %s has been silent for %v", n.Name, silent)
	case Gone:
		if n.Replicas > 0 {
			s.addSilence(Warning, "node %s has been silent for %v: %s made anew on other nodes", n.Name, silent, count(n.Replicas, "replica is", "replicas are"))
		} else {
			s.add(Info, "node %s has been silent for %v and has no replica: rondo cluster drain --forget %s forgets it", n.Name, silent, n.Name)
		}
	case Leaving:
		s.add(Info, "node %s is to leave: %s still on it", n.Name, count(n.Replicas, "replica is", "replicas are"))
	case Left:
		if n.Silent > 0 {
			s.add(Info, "node %s has left and is silent: rondo cluster drain --forget %s forgets it", n.Name, n.Name)
		} else {
			s.add(Info, "node %s has left: it has no replica, and gets none until rondo cluster drain --undo %s", n.Name, n.Name)
		}
	case Stopping:
		if n.Replicas > 0 {
			s.add(Warning, "node %s is stopping: %s about to be away", n.Name, count(n.Replicas, "replica is", "replicas are"))
		} else {
			s.add(Info, "node %s is stopping", n.Name)
		}
	}
}

// count returns a number and what it counts.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// subject names partitions: "partitions 1, 3-7" and, if there is more than that, what they do.
func subject(numbers []int, one, many string, verbs ...string) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		switch {
		case last == i+1:
			b.WriteString(", " + strconv.Itoa(numbers[last]))
		case last > i:
			b.WriteString("-" + strconv.Itoa(numbers[last]))
		}
		i = last + 1
	}
	name, verb := one, ""
	if len(verbs) == 2 {
		verb = " " + verbs[0]
	}
	if len(numbers) > 1 {
		name = many
		if verb != "" {
			verb = " " + verbs[1]
		}
	}
	return name + " " + b.String() + verb
}

// sorted returns the keys of a map in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
