package server

import (
	"cmp"
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/figures"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// watchPause is how often the server looks at itself.
const watchPause = 10 * time.Second

// observe looks at the server's state from time to time, until ctx ends, so that problems are
// noticed when they begin.
func (s *server) observe(ctx context.Context) {
	for ok := true; ok; ok = sleep.For(ctx, watchPause) == nil {
		if s.web != nil {
			s.web.Look() // the log and the status say what is wrong
		}
		s.watch.Observe(s.state(time.Now()))
	}
}

// problem returns a problem as it is sent, without its beginning.
func problem(p health.Problem) *rondov1.Problem {
	return &rondov1.Problem{Id: p.ID, Severity: p.Severity.String(), Text: p.Text, Advice: p.Advice}
}

// problemsOf returns what is the matter with a series.
func (s *server) problemsOf(series core.Series) []*rondov1.Problem {
	x, ok := s.receivers.sink.SparseOf(series)
	if !ok {
		return nil
	}
	return []*rondov1.Problem{problem(health.Sparse(x))}
}

// state returns the figures of the server at now.
func (s *server) state(now time.Time) health.State {
	backup := s.backups.State()
	st := health.State{
		Now: now, Started: s.started, Dir: absolute(s.DB), Store: s.store.Stats(),
		Sink: s.receivers.sink.Stats(), Senders: s.receivers.sink.Senders(), Sparse: s.receivers.sink.Sparse(context.Background()), Missed: s.notListening(),
		Alerting: s.rules.Troubles(), BackupErr: backup.Err, BackupLast: backup.Last,
		ConfigBad: s.figures.Reloads.Bad.Load(), Restart: int(s.figures.Reloads.Restart.Load()),
		HostRefused: s.middleware.HostsRefused(), Shed: s.middleware.Stats().Shed, Spool: s.spooled(),
		FiguresLate: rra.Time(s.figures.Late.Load()),
	}
	st.ClusterErrors, st.ClusterWarnings = clusterProblems(s.operators().Status(context.Background()))
	if s.web != nil {
		st.WebConfig, st.WebOpen = s.web.Err(), s.web.AsksNobody()
	}
	st.DiskFree, st.DiskSize = figures.DiskSpace(s.DB)
	st.Processor, _ = figures.ProcessorTime()
	for _, r := range s.receivers.all() {
		st.Receivers = append(st.Receivers, health.Receiver{
			Name: r.settings.Protocol.Name, Addr: addressOf(r.receiver), Stats: r.receiver.Stats(),
		})
	}
	for _, l := range s.listeners() {
		if l.open {
			st.Open = append(st.Open, l.GetName()+" at "+l.GetAddr())
		}
	}
	return st
}

// clusterProblems returns what is wrong with the cluster, if anything is.
func clusterProblems(st *rondov1.ClusterState) (errs, warnings []string) {
	for _, p := range st.GetProblems() {
		switch p.GetSeverity() {
		case operate.Error.String():
			errs = append(errs, p.GetText())
		case operate.Warning.String():
			warnings = append(warnings, p.GetText())
		}
	}
	return errs, warnings
}

// spooled returns what the health of the server needs of the spool.
func (s *server) spooled() (out health.Spool) {
	if s.member == nil {
		return out
	}
	st := s.member.Detour().Figures()
	out = health.Spool{Bytes: st.Bytes, Capacity: st.Capacity, Partitions: st.Partitions, Oldest: st.Oldest}
	for _, n := range st.Dropped {
		out.Dropped += n
	}
	return out
}

// addressOf returns where a receiver listens.
func addressOf(r receivers.Receiver) string {
	if a := r.Addr(); a != nil {
		return a.String()
	}
	return "files"
}

// A listening is an address at which the server listens.
type listening struct {
	*rondov1.Listener
	open bool // other machines can reach it, and it asks for no password
}

// listeners returns every address at which the server listens.
func (s *server) listeners() []listening {
	var ls []listening
	add := func(name string, a net.Addr, secured bool) {
		l := &rondov1.Listener{Name: name, Network: "file"}
		if a != nil {
			l.Network, l.Addr, l.Reachable = a.Network(), a.String(), middleware.BeyondLoopback(a)
		}
		ls = append(ls, listening{l, l.Reachable && !secured})
	}
	for _, e := range s.httpListeners {
		add("http", e.Addr(), s.secured())
	}
	for _, r := range s.receivers.all() {
		p := r.settings.Protocol
		add(p.Name, r.receiver.Addr(), p.Secured != nil && p.Secured(s.settings(r.settings)))
	}
	if s.daemon != nil {
		for i, a := range s.daemon.addrs {
			add("rrdcached", a, s.daemon.secured[i]())
		}
	}
	socket := &rondov1.Listener{Name: "command line", Network: "unix", Addr: absolute(filepath.Join(s.DB, rpc.SocketName))}
	return append(ls, listening{Listener: socket})
}

// report returns the answer of Status with at most so many senders.
func (s *server) report(senders int) *rondov1.StatusResponse {
	now := s.state(time.Now())
	was, ok := s.watch.Before(now.Now)
	if !ok {
		was = now // every rate is 0
	}
	answer := &rondov1.StatusResponse{
		Version: s.Version, StartedUs: s.started.UnixMicro(), NowUs: now.Now.UnixMicro(), Database: absolute(s.DB),
		SendersTotal: int64(len(now.Senders)), Engine: engineStatus(&was, &now), OwnPrefix: s.own(),
		Cluster: s.operators().Status(context.Background()),
	}
	for _, l := range s.listeners() {
		answer.Listeners = append(answer.Listeners, l.Listener)
	}
	for _, p := range s.watch.Problems(now) {
		x := problem(p)
		x.SinceUs = p.Since.UnixMicro()
		answer.Problems = append(answer.Problems, x)
	}
	protocols := make(map[string]string) // the prefix of its paths → the receiver
	for i, r := range s.receivers.all() {
		if i >= len(now.Receivers) || now.Receivers[i].Name != r.settings.Protocol.Name {
			continue // the configuration is just being read again
		}
		protocols[r.settings.Protocol.PathPrefix()] = r.settings.Protocol.Name
		x := receiverStatus(&was, &now, i)
		x.Prefix = r.settings.Protocol.PathPrefix()
		answer.Receivers = append(answer.Receivers, x)
	}
	for _, x := range now.Senders {
		for _, r := range answer.GetReceivers() {
			if r.GetPrefix() == x.Prefix {
				r.Senders++
			}
		}
	}
	slices.SortStableFunc(now.Senders, func(a, b sink.Sender) int { return cmp.Compare(b.Last.UnixMicro(), a.Last.UnixMicro()) })
	for _, x := range now.Senders[:min(len(now.Senders), senders)] {
		answer.Senders = append(answer.Senders, &rondov1.SenderStatus{
			Name: strings.ToValidUTF8(x.Name, "\uFFFD"), Receiver: protocols[x.Prefix], Prefix: strings.ToValidUTF8(x.Prefix, "\uFFFD"),
			FirstUs: x.First.UnixMicro(), LastUs: x.Last.UnixMicro(), Samples: x.Samples, Series: x.Series, Folder: strings.ToValidUTF8(x.Folder, "\uFFFD"),
		})
	}
	return answer
}

// rate returns by how much a counter has grown a second from was to now.
func rate(was, now *health.State, counter func(*health.State) uint64) float64 {
	seconds := now.Now.Sub(was.Now).Seconds()
	a, b := counter(was), counter(now)
	if seconds <= 0 || b < a {
		return 0
	}
	return float64(b-a) / seconds
}

func receiverStatus(was, now *health.State, i int) *rondov1.ReceiverStatus {
	r := now.Receivers[i]
	per := func(counter func(receivers.Stats) uint64) float64 {
		return rate(was, now, func(s *health.State) uint64 { return counter(s.Receiver(r.Name)) })
	}
	st := r.Stats
	x := &rondov1.ReceiverStatus{
		Name: r.Name, Addr: r.Addr, Packets: st.Packets, Bytes: st.Bytes, Samples: st.Samples, Values: st.Values, Notes: st.Notes,
		PacketRate:  per(func(s receivers.Stats) uint64 { return s.Packets }),
		SampleRate:  per(func(s receivers.Stats) uint64 { return s.Samples }),
		Connections: st.Connections, Series: st.Series,
	}
	if st.KernelDropped > 0 {
		x.Dropped = append(x.Dropped, &rondov1.DropCount{
			Reason: "kernel", Count: st.KernelDropped,
			Rate: per(func(s receivers.Stats) uint64 { return s.KernelDropped }),
		})
	}
	for reason, n := range st.Dropped {
		if n > 0 {
			x.Dropped = append(x.Dropped, &rondov1.DropCount{
				Reason: receivers.Reason(reason).String(), Count: n,
				Rate: per(func(s receivers.Stats) uint64 { return s.Dropped[reason] }),
			})
		}
	}
	return x
}

// engineStatus returns what the store does.
func engineStatus(was, now *health.State) *rondov1.EngineStatus {
	st := &now.Store
	x := &rondov1.EngineStatus{
		Series: st.Series, SeriesLimit: st.SeriesLimit,
		Samples: st.SamplesAccepted, SamplesLate: st.SamplesLate, SamplesRefused: st.SamplesRefused, Held: st.Held,
		MemoryBytes: st.MemoryBytes, MemoryBudgetBytes: st.MemoryBudget,
		LogBytes: st.LogBytes, LogFailures: st.LogFailures,
		DatabaseBytes: st.DatabaseBytes, DatabaseFreeBytes: st.DatabaseFree, DiskFreeBytes: now.DiskFree, DiskBytes: now.DiskSize,
		Checkpoints: st.Checkpoints, CheckpointFailures: st.CheckpointFailures,
		CheckpointSeconds: st.CheckpointSeconds, CheckpointSecondsMax: st.CheckpointSecondsMax, Damaged: st.Damaged,
		SampleRate: rate(was, now, func(s *health.State) uint64 { return s.Store.SamplesAccepted }),
		LogRate:    rate(was, now, func(s *health.State) uint64 { return s.Store.LogWritten }),
	}
	if rss, ok := figures.ResidentBytes(); ok {
		x.ResidentBytes = int64(rss)
	}
	if n := st.AppendSeconds.Count() - was.Store.AppendSeconds.Count(); n > 0 {
		x.AppendSeconds = (st.AppendSeconds.Sum() - was.Store.AppendSeconds.Sum()) / float64(n)
	}
	if d := now.Now.Sub(was.Now); d > 0 {
		x.Processors = (now.Processor - was.Processor).Seconds() / d.Seconds()
	}
	return x
}
