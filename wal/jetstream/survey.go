package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/internal/abreast"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/internal/sleep"
)

const (
	// heardTime is how long a new leader may take to hear the other replicas.
	heardTime = 1500 * time.Millisecond
	// silentTime is for how long a replica may be silent; it is heard each second.
	silentTime = 6 * time.Second
	// farBehind is how many messages a replica may lack: a busy stream takes some hundred a second.
	farBehind = 1000
	// atOnce is how many questions are on their way at a time.
	atOnce = 32
	// mostReplicas and mostName bound what is kept of an answer.
	mostReplicas, mostName = 16, 100
)

// A Survey asks servers again and again how they are, and how far each replica of streams is. One
// goroutine uses it.
type Survey struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	monitors []string
	assumed  bool
	names    map[string]string // of the servers, by monitoring address, as they answered last
}

// NewSurvey returns a Survey of the servers that a connection reaches. monitors are the addresses
// of their monitoring ports, http://HOST:PORT. assumed says that nobody has named these addresses:
// they are a guess. The Survey then ignores ports that do not answer until one of them has
// answered.
func NewSurvey(nc *nats.Conn, monitors []string, assumed bool) (*Survey, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return &Survey{nc: nc, js: js, monitors: monitors, assumed: assumed, names: make(map[string]string)}, nil
}

// Surveyed is what servers have answered.
type Surveyed struct {
	Servers []ServerHealth // in order of names; those whose names are not known last
	Streams []StreamHealth // in the order in which they were asked for
}

// ServerHealth says how a server is.
type ServerHealth struct {
	Name    string // empty: not known
	Problem string // what it does or lacks, as in "does not answer"; empty: it is there
}

// StreamHealth says how the replicas of a stream are.
type StreamHealth struct {
	Err      error           // no server knows it: it has no leader, or does not exist
	Replicas []ReplicaHealth // the leader's first; none, and no Err: it was not asked about
	Full     int             // per cent of the room for records that is taken; 0: it has no bound
}

// ReplicaHealth says how the replica of a stream on one server is.
type ReplicaHealth struct {
	Server  string
	Missing string // why it takes no messages, as in "is offline"; empty: it does
	Lag     uint64 // messages that it lacks, if these are many, else 0
	unheard bool   // since the stream has its leader
}

// Ask asks about streams. It takes 5 s at most, however many there are.
func (s *Survey) Ask(ctx context.Context, streams []string) *Surveyed {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answers := make([]monitored, len(s.monitors))
	out := &Surveyed{Streams: make([]StreamHealth, len(streams))}
	var monitors sync.WaitGroup
	monitors.Go(func() {
		abreast.Each(len(answers), atOnce, func(i int) {
			v, err := monitor(ctx, s.monitors[i])
			answers[i] = monitored{s.monitors[i], v, err}
		})
	})
	abreast.Each(len(streams), atOnce, func(i int) { out.Streams[i] = s.stream(ctx, streams[i]) })
	s.again(ctx, streams, out.Streams)
	monitors.Wait()
	out.Servers = s.servers(answers, out.Streams)
	return out
}

// stream asks once about a stream. If ctx ends meanwhile nothing is known.
func (s *Survey) stream(ctx context.Context, name string) StreamHealth {
	try, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	st, err := s.js.Stream(try, name)
	switch {
	case err == nil:
		info := st.CachedInfo()
		h := healthOf(info.Cluster, s.nc.ConnectedServerName())
		h.Full = fullness(info.State.Bytes, info.Config.MaxBytes)
		return h
	case ctx.Err() != nil:
		return StreamHealth{}
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return StreamHealth{Err: ErrNoStream}
	}
	why := natsconn.Explain(s.nc, err)
	if why == err && errors.Is(err, context.DeadlineExceeded) {
		why = errUnanswered
	}
	return StreamHealth{Err: why}
}

// fullness returns how many per cent of a stream's room for records are taken: a part of the room
// is kept for claims.
func fullness(taken uint64, most int64) int {
	if most <= 0 {
		return 0
	}
	return int(min(float64(taken)/float64(room(most)), 1) * 100)
}

// doubtful reports whether a stream is to be asked about once more. A stream without a leader may
// get one soon. A leader that is new has not heard of the other replicas yet, and says that they
// are silent.
func (h *StreamHealth) doubtful() bool {
	return h.Err != nil && h.Err != ErrNoStream ||
		slices.ContainsFunc(h.Replicas, func(r ReplicaHealth) bool { return r.unheard })
}

// again asks once more about streams that are doubtful.
func (s *Survey) again(ctx context.Context, names []string, streams []StreamHealth) {
	if !slices.ContainsFunc(streams, func(h StreamHealth) bool { return h.doubtful() }) {
		return
	}
	if sleep.For(ctx, heardTime) != nil {
		return
	}
	abreast.Each(len(streams), atOnce, func(i int) {
		if streams[i].doubtful() {
			if now := s.stream(ctx, names[i]); now.Err != nil || now.Replicas != nil {
				streams[i] = now
			}
		}
	})
}

// ErrNoStream is the Err of a StreamHealth where the servers have no such stream.
var ErrNoStream = errors.New("the servers have no such log")

// Why no server knows a stream, in words for operators.
var (
	errNoLeader   = errors.New("it has no leader")
	errUnanswered = errors.New("nobody has answered in time")
)

// healthOf returns how the replicas of a stream are, as its leader knows it. A server that is in no
// cluster is alone. One that no longer leads may answer, too, and names no leader.
func healthOf(c *jetstream.ClusterInfo, alone string) StreamHealth {
	switch {
	case c == nil:
		return StreamHealth{Replicas: []ReplicaHealth{{Server: clip(alone)}}}
	case c.Leader == "":
		return StreamHealth{Err: errNoLeader}
	}
	all := []ReplicaHealth{{Server: clip(c.Leader)}}
	for _, p := range c.Replicas[:min(len(c.Replicas), mostReplicas)] {
		if p == nil {
			continue
		}
		r := ReplicaHealth{Server: clip(p.Name)}
		switch {
		case p.Offline:
			r.Missing = "is offline"
		case p.Active > silentTime:
			r.Missing = fmt.Sprintf("has been silent for %v", p.Active.Round(time.Second))
		case p.Active == 0 && !p.Current:
			r.Missing, r.unheard = "is silent", true
		case !p.Current && p.Lag >= farBehind:
			r.Lag = p.Lag
		}
		all = append(all, r)
	}
	return StreamHealth{Replicas: all}
}

// clip shortens a name that a server says.
func clip(name string) string { return name[:min(len(name), mostName)] }

// A monitored is the answer of a monitoring port.
type monitored struct {
	at  string
	v   varz
	err error
}

const disabled = "has JetStream disabled, as after its disk was full: free its disk and restart it"

// servers puts together what monitoring ports and the leaders of streams say.
func (s *Survey) servers(answers []monitored, streams []StreamHealth) []ServerHealth {
	keep, leaderless := keepersOf(streams)
	answered := make(map[string]bool)
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		name := clip(a.v.Name)
		s.names[a.at], answered[name] = name, true
		// A server that keeps nothing may have been set up without JetStream.
		if _, keeps := keep[name]; a.v.JetStream.Config == nil && (keeps || leaderless) {
			keep[name] = disabled
		}
	}
	var all []ServerHealth
	if len(answered) > 0 || !s.assumed {
		all = s.unanswered(answers, answered, keep)
	}
	for name, problem := range keep {
		all = append(all, ServerHealth{name, problem})
	}
	slices.SortFunc(all, func(a, b ServerHealth) int {
		if (a.Name == "") != (b.Name == "") {
			return len(b.Name) - len(a.Name) // those without a name last
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Problem, b.Problem))
	})
	return all
}

// keepersOf returns the servers that keep streams, each with what is wrong if it takes messages of
// none of them, and whether a stream has no leader.
func keepersOf(streams []StreamHealth) (keep map[string]string, leaderless bool) {
	keep = make(map[string]string)
	for _, st := range streams {
		leaderless = leaderless || st.Err != nil
		for _, r := range st.Replicas {
			if was, ok := keep[r.Server]; !ok || was != "" {
				keep[r.Server] = r.Missing
			}
		}
	}
	return keep, leaderless
}

// unanswered notes in keep which servers do not answer at their monitoring ports, and returns the
// ports whose server nobody knows.
func (s *Survey) unanswered(answers []monitored, answered map[string]bool, keep map[string]string) (nameless []ServerHealth) {
	named := make(map[string]bool)
	for _, a := range answers {
		if a.err == nil {
			continue
		}
		if name := s.names[a.at]; name != "" && !answered[name] {
			keep[name], named[name] = unanswered(a), true
		} else {
			nameless = append(nameless, ServerHealth{Problem: unanswered(a)})
		}
	}
	var unseen []string
	dead := true // all of them
	for name, problem := range keep {
		if !answered[name] && !named[name] {
			unseen = append(unseen, name)
			dead = dead && problem != ""
		}
	}
	switch {
	case len(nameless) == 1 && len(unseen) == 1:
		keep[unseen[0]] = nameless[0].Problem
		return nil
	case dead && len(nameless) <= len(unseen):
		return nil // the ports belong to servers that are missing already
	}
	return nameless
}

func unanswered(a monitored) string {
	err := a.err
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // it names the address, too
	}
	if o, ok := errors.AsType[*net.OpError](err); ok {
		err = o.Err // likewise
	}
	if s, ok := errors.AsType[*os.SyscallError](err); ok {
		err = s.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "does not answer at " + a.at
	}
	return fmt.Sprintf("does not answer at %s: %v", a.at, err)
}
