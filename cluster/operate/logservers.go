package operate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/wal/jetstream"
)

// LogServers is what is known of the servers of NATS: those that keep the logs of the partitions
// and the map.
type LogServers struct {
	Servers []jetstream.ServerHealth
	Logs    []jetstream.StreamHealth // by partition
	Map     jetstream.StreamHealth
}

// Missing returns how many servers do not answer, or keep nothing now.
func (l *LogServers) Missing() (n int) {
	for _, s := range l.Servers {
		if s.Problem != "" {
			n++
		}
	}
	return n
}

// Behind returns how many servers take no messages of a log, or are far behind in one.
func (l *LogServers) Behind() int {
	late := make(map[string]bool)
	l.each(func(_ int, k *jetstream.StreamHealth) {
		for _, x := range k.Replicas {
			if x.Missing != "" || x.Lag > 0 {
				late[x.Server] = true
			}
		}
	})
	for _, s := range l.Servers {
		if s.Problem != "" {
			delete(late, s.Name)
		}
	}
	return len(late)
}

// each calls fn with each log and its partition, and last with the map and theMap.
func (l *LogServers) each(fn func(partition int, k *jetstream.StreamHealth)) {
	for i := range l.Logs {
		fn(i, &l.Logs[i])
	}
	fn(theMap, &l.Map)
}

// theMap stands for the map in lists of partitions.
const theMap = -1

// AddLogServers notes what is wrong with the servers; nil: nothing is known.
func (s *State) AddLogServers(l *LogServers) {
	if l == nil {
		return
	}
	if l.Map.Err != nil {
		s.muted()
	}
	var untold, absent []int
	var why error
	l.each(func(p int, k *jetstream.StreamHealth) {
		switch {
		case errors.Is(k.Err, jetstream.ErrNoStream):
			absent = append(absent, p)
		case k.Err != nil:
			untold, why = append(untold, p), k.Err
		}
	})
	if len(absent) > 0 {
		s.Add(Error, "the servers of NATS do not have %s: not made yet, deleted or lost; updates wait until a node makes it", logs(absent))
	}
	if len(untold) > 0 {
		s.Add(Error, "no nats-server leads %s: updates wait: %v", logs(untold), why)
	}
	for _, x := range l.Servers {
		s.judgeLogServer(l, x)
	}
	s.judgeKeepers(l)
	s.judgeRoom(l)
}

// A log with tooFull per cent of its room taken gets a warning. One that is full has less left than
// a message may take.
const (
	tooFull = 80
	full    = 98
)

// judgeRoom reports logs that are full, or soon will be.
func (s *State) judgeRoom(l *LogServers) {
	var none, little []int
	most := 0
	for p, k := range l.Logs {
		switch {
		case k.Full >= full:
			none = append(none, p)
		case k.Full >= tooFull:
			little, most = append(little, p), max(most, k.Full)
		}
	}
	const why = "until replicas that are behind have what is in it, or their nodes have been silent for ten minutes"
	if len(none) > 0 {
		s.Add(Error, "%s %s full: updates are refused %s", logs(none), plural(len(none), "is", "are"), why)
	}
	if len(little) > 0 {
		s.Add(Warning, "%s %s full to %d %%: updates are refused when nothing is left, %s", logs(little), plural(len(little), "is", "are"), most, why)
	}
}

// judgeLogServer reports a server that is missing.
func (s *State) judgeLogServer(l *LogServers, x jetstream.ServerHealth) {
	switch {
	case x.Problem == "":
	case x.Name == "":
		s.Add(Warning, "a nats-server %s", x.Problem)
	default:
		kept := kept{of: x.Name, missing: true}
		kept.find(l)
		s.Add(kept.severity(), "nats-server %s %s%s", x.Name, x.Problem, kept.rest())
	}
}

// judgeKeepers reports servers that are there and keep a log badly.
func (s *State) judgeKeepers(l *LogServers) {
	for _, x := range l.Servers {
		if x.Problem != "" || x.Name == "" {
			continue
		}
		gone := kept{of: x.Name, missing: true}
		if gone.find(l); len(gone.logs) > 0 {
			s.Add(gone.severity(), "nats-server %s %s in %s%s", x.Name, gone.why, logs(gone.logs), gone.rest())
		}
		late := kept{of: x.Name}
		if late.find(l); len(late.logs) > 0 {
			s.Add(late.severity(), "nats-server %s is behind in %s, by up to %s%s", x.Name, logs(late.logs), count(int(late.lag), "message", "messages"), late.rest())
		}
	}
}

// kept is what becomes of the logs that a server does not keep up with.
type kept struct {
	of      string
	missing bool // those that it takes no messages of; else those that it is far behind in
	logs    []int
	why     string
	lag     uint64
	fewest  jetstream.StreamHealth // that the fewest servers keep beyond what is needed
	spare   int                    // how many of them these are; negative: updates wait
}

func (k *kept) find(l *LogServers) {
	l.each(func(p int, log *jetstream.StreamHealth) {
		i := slices.IndexFunc(log.Replicas, func(x jetstream.ReplicaHealth) bool {
			return x.Server == k.of && (x.Missing != "") == k.missing && (k.missing || x.Lag > 0)
		})
		if i < 0 {
			return
		}
		k.why, k.lag = log.Replicas[i].Missing, max(k.lag, log.Replicas[i].Lag)
		if spare := spareOf(log); len(k.logs) == 0 || spare < k.spare {
			k.fewest, k.spare = *log, spare
		}
		k.logs = append(k.logs, p)
	})
}

// good returns how many servers keep all of a log, and how many take its messages.
func good(l *jetstream.StreamHealth) (keep, take int) {
	for _, x := range l.Replicas {
		if x.Missing == "" {
			take++
			if x.Lag == 0 {
				keep++
			}
		}
	}
	return keep, take
}

// spareOf returns how many more servers may be lost before updates wait. It is negative if they
// wait.
func spareOf(l *jetstream.StreamHealth) int {
	keep, take := good(l)
	most := len(l.Replicas)/2 + 1
	if take < most {
		return take - most
	}
	return max(keep-most, 0)
}

func (k *kept) severity() Severity {
	if len(k.logs) > 0 && k.spare < 0 {
		return Error
	}
	return Warning
}

// rest says what follows for the logs.
func (k *kept) rest() string {
	if len(k.logs) == 0 {
		return ""
	}
	keep, _ := good(&k.fewest)
	what := fmt.Sprintf(": %d of %d servers %s %s, ", keep, len(k.fewest.Replicas), plural(keep, "keeps", "keep"), logs(k.logs))
	switch {
	case k.spare < 0:
		return what + "so updates wait"
	case k.spare == 0:
		return what + "and updates wait when another one is lost"
	}
	return what + fmt.Sprintf("and updates wait when %d others are lost", k.spare+1)
}

// logs names logs.
func logs(of []int) string {
	var words []string
	parts := slices.DeleteFunc(slices.Clone(of), func(p int) bool { return p == theMap })
	if len(parts) > 0 {
		words = append(words, "the "+plural(len(parts), "log", "logs")+" of "+subject(parts, "partition", "partitions"))
	}
	if len(parts) < len(of) {
		words = append(words, "the map of partitions")
	}
	return strings.Join(words, " and ")
}

// plural returns the word for n of something.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
