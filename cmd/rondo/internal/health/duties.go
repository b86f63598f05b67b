package health

import (
	"fmt"
	"time"
)

func backups(l *look) {
	if l.BackupErr == nil {
		return
	}
	last := "None is known that is whole."
	if !l.BackupLast.IsZero() {
		last = "The newest is of " + l.BackupLast.UTC().Format("2006-01-02 15:04 UTC") + "."
	}
	l.lasts(Problem{
		ID: "backup", Severity: Error,
		Text:   fmt.Sprintf("The last backup failed: %v. %s", l.BackupErr, last),
		Advice: "Look at the folder that --backup-to names, and at the room on its disk. It is tried again by itself.",
	})
}

// cluster reports what is wrong with the cluster.
func cluster(l *look) {
	for _, x := range []struct {
		id       string
		severity Severity
		list     []string
	}{{"cluster", Error, l.ClusterErrors}, {"cluster_replicas", Warning, l.ClusterWarnings}} {
		if len(x.list) == 0 {
			continue
		}
		l.lasts(Problem{
			ID: x.id, Severity: x.severity, Text: "The cluster is not whole: " + some(x.list, "; ", "; and ") + ".",
			Advice: "Other nodes take over and make replicas anew by themselves, if they can. A nats-server that is missing must be started again. rondo cluster status says more.",
		})
	}
}

// alerting reports alerts that do not arrive, and rules that do not find out what to say.
func alerting(l *look) {
	for _, r := range l.Alerting.Refusing {
		l.lasts(Problem{
			ID: "alert_receiver/" + r.To, Severity: Error,
			Text:   fmt.Sprintf("%s does not take alerts: %s.", text(r.To), text(r.Err)),
			Advice: "Look whether it runs at this address. A webhook is tried again for an hour, unless it answers 4xx; an Alertmanager gets each alert every minute.",
		})
	}
	for _, g := range l.Alerting.Slow {
		l.lasts(Problem{
			ID: "slow_rules/" + g.Group, Severity: Warning,
			Text: fmt.Sprintf("The rules of %s take %v, longer than their interval of %v: evaluations are left out.",
				text(g.Group), g.Took.Round(time.Millisecond), g.Interval),
			Advice: "Give the group a longer interval, split it, or record what its expressions have in common.",
		})
	}
	failing := l.Alerting.Failing
	if len(failing) == 0 {
		return
	}
	var names []string
	for _, r := range failing {
		names = append(names, fmt.Sprintf("%s in %s: %s", r.Rule, r.Group, r.Err))
	}
	l.lasts(Problem{
		ID: "rules", Severity: Warning,
		Text:   fmt.Sprintf("%s: %s.", plural(len(failing), "rule fails", "rules fail"), some(names, "; ", "; ")),
		Advice: "Try the expression with rondo query. Alerts of these rules stay as they were meanwhile.",
	})
}

// MuchFree reports whether so much of a database's file of size bytes is free that compacting it is
// worth the trouble: a third of it, and 64 MiB.
func MuchFree(bytes, free int64) bool { return free >= 64<<20 && free >= bytes/3 }

// space reports free pages that are many.
func space(l *look) {
	if bytes, free := l.Store.DatabaseBytes, l.Store.DatabaseFree; MuchFree(bytes, free) {
		l.lasts(Problem{
			ID: "space", Severity: Info,
			Text:   fmt.Sprintf("%s of the %s of the database file are free pages, which only rondo uses again.", Size(free), Size(bytes)),
			Advice: "If the disk's other users need the space, stop the server and run rondo compact. A server that starts compacts by itself if more than half of the file is free.",
		})
	}
}

// spooled reports that samples wait for the leaders of their partitions, and that some were lost.
func spooled(l *look) {
	x := &l.Spool
	p := Problem{
		ID: "spool", Severity: Info,
		Text: fmt.Sprintf("Samples of %s wait for a leader, the oldest for %v: %s of %s.",
			count(uint64(x.Partitions), "partition"), x.Oldest.Round(time.Second), Size(x.Bytes), Size(x.Capacity)),
		Advice: "They are delivered when the partitions have leaders. If that takes longer than half a minute, look at the other nodes and at the servers of NATS.",
	}
	if x.Oldest > time.Minute || x.Bytes > x.Capacity/2 {
		p.Severity = Warning
	}
	if x.Bytes > x.Capacity/5*4 {
		p.Severity = Error
	}
	if x.Partitions > 0 {
		l.lasts(p)
	}
	l.grows(func(s *State) uint64 { return s.Spool.Dropped }, Problem{
		ID: "spool_dropped", Severity: Error,
		Text:   "Samples are lost, because their partitions have no leaders and the spool does not take them.",
		Advice: "Look at the other nodes and at the servers of NATS. rondo_cluster_spool_dropped_total in /metrics says why; --spool sets the size.",
	})
}
