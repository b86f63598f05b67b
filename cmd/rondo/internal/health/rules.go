package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// rules find the problems of a state.
var rules = []func(*look){
	damage, logs, checkpoints, disk, memory, space, series, refused, late, own, inputs, sparse, silence, backups, alerting, settings, port, spooled, cluster,
}

const (
	patience  = time.Minute      // how long a receiver may hear nothing before that is reported
	silent    = 10 * time.Minute // how long a sender may be silent before that is reported
	forgotten = 24 * time.Hour   // a sender that is silent for longer has gone for good
	named     = 3                // senders that a text names
)

func damage(l *look) {
	if n := l.Store.Damaged; n > 0 {
		l.lasts(Problem{
			ID: "damaged", Severity: Error,
			Text:   fmt.Sprintf("%s in the database cannot be read: a checksum does not match.", count(uint64(n), "place")),
			Advice: "Stop the server and run rondo check --repair. Then look for the cause: the disk, its cable, the memory.",
		})
	}
}

func logs(l *look) {
	l.grows(func(s *State) uint64 { return s.Store.LogFailures }, Problem{
		ID: "log", Severity: Error,
		Text:   "The log cannot be written: samples are not stored.",
		Advice: "Make room on the disk of " + l.Dir + ", or look for its errors in the system's log. Rondo goes on by itself.",
	})
}

func checkpoints(l *look) {
	l.grows(func(s *State) uint64 { return s.Store.CheckpointFailures + s.Store.DatabaseFailures }, Problem{
		ID: "checkpoint", Severity: Error,
		Text:   "The database file cannot be written: the log grows until its disk is full.",
		Advice: "Make room on the disk of " + l.Dir + ", or look for its errors in the system's log. Nothing is lost so far.",
	})
}

func disk(l *look) {
	const little, none = 1 << 30, 128 << 20
	p := Problem{
		ID: "disk", Severity: Warning,
		Text:   fmt.Sprintf("The disk of %s has only %s left.", l.Dir, Size(l.DiskFree)),
		Advice: "Make room: when the disk is full, no sample is stored.",
	}
	if l.DiskSize > 0 && l.DiskFree < none {
		p.Severity = Error
	}
	if l.DiskSize > 0 && l.DiskFree < min(little, l.DiskSize/20) {
		l.lasts(p)
	}
}

func memory(l *look) {
	if b := l.Store.MemoryBudget; b > 0 && l.Store.MemoryBytes > b/10*9 {
		l.lasts(Problem{
			ID: "memory", Severity: Warning,
			Text:   fmt.Sprintf("States and rows fill %s of the %s of memory they may have: writers wait for checkpoints.", Size(l.Store.MemoryBytes), Size(b)),
			Advice: "Raise --memory.",
		})
	}
}

func series(l *look) {
	n, most := l.Store.Series, l.Store.SeriesLimit
	p := Problem{
		ID: "series", Severity: Warning,
		Text:   fmt.Sprintf("There are %d series, and there may be %d: soon new ones are not made.", n, most),
		Advice: "Raise --max-series, or drop series that nobody needs (rondo drop).",
	}
	if n >= most {
		p.Severity, p.Text = Error, fmt.Sprintf("There are %d series, as many as there may be: new ones are not made.", n)
	}
	if most > 0 && n > most/10*9 {
		l.lasts(p)
	}
}

// refused reports series that were not made although the store has room for more.
func refused(l *look) {
	l.grows(func(s *State) uint64 { return s.Sink.Refused[sink.RefusedSender] }, Problem{
		ID: "sender_limit", Severity: Warning,
		Text:   "A sender has made more new series than one sender may: the rest is not made for now.",
		Advice: "Look whether it puts a changing number into names. If all is right, raise --sender-burst and --sender-rate.",
	})
	l.grows(func(s *State) uint64 { return s.Sink.Refused[sink.RefusedInvalid] }, Problem{
		ID: "invalid_series", Severity: Warning,
		Text:   "Some series were not made, because their names or definitions are not valid.",
		Advice: "The server's log names them. Look at the rules of the policy, and at what the senders call their values.",
	})
}

// own reports figures of the server itself that its series refuse.
func own(l *look) {
	if l.FiguresLate != 0 {
		l.lasts(Problem{
			ID: "own_figures", Severity: Warning,
			Text:   fmt.Sprintf("The server's own figures are not recorded until %s: the clock was set back.", l.FiguresLate.Std().UTC().Format(time.RFC3339)),
			Advice: "If the clock is right now, wait, or drop the series below rondo/ (rondo drop): they are made anew at once.",
		})
	}
}

// late reports samples that the store refused.
func late(l *look) {
	l.grows(func(s *State) uint64 { return s.Store.SamplesLate }, Problem{
		ID: "late", Severity: Warning,
		Text:   "Samples arrive out of order or twice: those that are not after the last of their series are refused.",
		Advice: "Often two senders write the same series, or a sender's clock was set back. If the network changes the order, use --reorder.",
	})
	l.grows(func(s *State) uint64 { return s.Store.SamplesRefused }, Problem{
		ID: "refused", Severity: Warning,
		Text:   "Samples are refused, because their series has been dropped or they have a wrong number of values.",
		Advice: "The server's log, and the answers to Write and UPDATE, name them.",
	})
}

// drops are the problems that receivers count by reason. Late samples have a problem of their own.
var drops = map[receivers.Reason]struct {
	severity     Severity
	text, advice string
}{
	receivers.Truncated:   {Warning, "packets end too early", "Look whether the sender's packets are cut on the way, for instance by an MTU."},
	receivers.Malformed:   {Warning, "packets do not follow the protocol", "The server's log names the senders. Something else may be sending to this port."},
	receivers.Unsupported: {Warning, "packets are of a kind or version that is not known", "The server's log names the senders."},
	receivers.Auth:        {Warning, "packets have a wrong password or signature, or none", "Compare the sender's user and password with the users file. The server's log names the senders."},
	receivers.Checksum:    {Warning, "packets arrive damaged: a checksum does not match", "Look for errors of the network between the sender and this machine."},
	receivers.Limit:       {Warning, "something is over a limit: too long, too many series, or too many connections", "See docs/limits.md for the limits; the server's log names what is over."},
	receivers.State:       {Warning, "samples do not fit: their time is in the future, or the series has another form", "Compare the sender's clock with this machine's. --max-future says how far ahead a clock may be."},
	receivers.Overload:    {Error, "samples are lost, because they arrive faster than they can be stored", "Look at the disk: it may be slow or full. Give the server more memory, or send less often."},
	receivers.Failed:      {Error, "samples are lost, because the store returned errors", "The server's log names the error."},
	receivers.Foreign:     {Info, "somebody speaks HTTP or TLS to this port", "Look which program has the wrong port."},
}

// inputs reports what receivers have lost.
func inputs(l *look) {
	for _, r := range l.Receivers {
		name := r.Name
		l.grows(func(s *State) uint64 { return s.Receiver(name).KernelDropped }, Problem{
			ID: "kernel_dropped/" + name, Severity: Error,
			Text:   name + ": datagrams are lost before rondo can read them, because the socket's buffer is full.",
			Advice: "Raise net.core.rmem_max to 64 MiB or more (sysctl -w net.core.rmem_max=67108864) and restart the server.",
		})
		for reason := range receivers.NumReasons {
			if d, ok := drops[reason]; ok {
				l.grows(func(s *State) uint64 { return s.Receiver(name).Dropped[reason] }, Problem{
					ID: reason.String() + "/" + name, Severity: d.severity,
					Text: name + ": " + d.text + ".", Advice: d.advice,
				})
			}
		}
	}
}

// silence reports receivers that have heard nothing, and of senders that have stopped.
func silence(l *look) {
	var idle []string
	for _, r := range l.Receivers {
		if r.Stats.Packets == 0 && l.Now.Sub(l.Started) > patience {
			idle = append(idle, fmt.Sprintf("%s at %s", r.Name, r.Addr))
		}
	}
	if len(idle) > 0 { // unused receivers are usual: one line for all
		l.lasts(Problem{
			ID: "nothing", Severity: Info, Text: "Nothing has been received so far by " + strings.Join(idle, ", ") + ".",
			Advice: "Point a sender there, or turn receivers off that you do not need.",
		})
	}
	var gone []sink.Sender
	for _, s := range l.Senders {
		if quiet := l.Now.Sub(s.Last); s.Samples > 0 && quiet > silent && quiet < forgotten {
			gone = append(gone, s)
		}
	}
	if len(gone) == 0 {
		return
	}
	slices.SortStableFunc(gone, func(a, b sink.Sender) int { return a.Last.Compare(b.Last) })
	var names []string
	for _, s := range gone {
		names = append(names, text(s.Name))
	}
	l.lasts(Problem{
		ID: "silent", Severity: Warning,
		Text: fmt.Sprintf("%s silent for more than %d minutes: %s.",
			plural(len(gone), "sender has been", "senders have been"), int(silent/time.Minute), some(names, ", ", ", ")),
		Advice: "Look whether these machines and their agents run, and whether their packets arrive.",
	})
}

// sparse reports series whose samples come too far apart.
func sparse(l *look) {
	n := len(l.Sparse)
	if n == 0 {
		return
	}
	var names []string
	for _, x := range l.Sparse {
		names = append(names, fmt.Sprintf("%s (%d s apart, heartbeat %d s)", text(x.Path), x.Apart, x.Heartbeat))
	}
	l.lasts(Problem{
		ID: "sparse", Severity: Warning,
		Text:   fmt.Sprintf("%s samples further apart than the heartbeat, so that rows are unknown: %s.", plural(n, "series gets", "series get"), some(names, ", ", ", ")),
		Advice: Sparse(l.Sparse[0]).Advice,
	})
}

// Sparse returns the problem of one series whose samples come too far apart.
func Sparse(x sink.Sparse) Problem {
	return Problem{
		ID: "sparse", Severity: Warning,
		Text: fmt.Sprintf("Samples come %d s apart, and the heartbeat is %d s: rows are unknown.", x.Apart, x.Heartbeat),
		Advice: fmt.Sprintf("rondo tune %s -h %s:%d mends one. For new series name step and heartbeat in a rule of the configuration's key policy.",
			text(x.Path), x.Source, max(4*x.Apart, 60)),
	}
}

func settings(l *look) {
	if l.ConfigBad {
		l.lasts(Problem{
			ID: "config", Severity: Warning,
			Text:   "The configuration was read again and has a mistake: the old one stays in use.",
			Advice: "Run rondo config check, mend the file and reload the server. The server's log has the mistake, too.",
		})
	}
	if l.WebConfig != nil {
		l.lasts(Problem{
			ID: "web_config", Severity: Error,
			Text:   "The web configuration has changed and has a mistake: the old one stays in use. " + l.WebConfig.Error() + ".",
			Advice: "Mend the file: rondo reads it again by itself. Until then revoked users and tokens are still let in.",
		})
	}
	if l.WebOpen {
		l.lasts(Problem{
			ID: "web_open", Severity: Info,
			Text:   "The web configuration asks nobody for credentials: whoever reaches the HTTP port may change everything.",
			Advice: "Put users, tokens or certificates into the file (docs/security.md), and restart the server.",
		})
	}
	if l.Restart > 0 {
		l.lasts(Problem{
			ID: "restart", Severity: Info,
			Text:   fmt.Sprintf("%s in the configuration only after a restart.", plural(l.Restart, "changed setting takes effect", "changed settings take effect")),
			Advice: "Restart the server when it suits.",
		})
	}
	if len(l.Missed) > 0 {
		l.lasts(Problem{
			ID: "taken", Severity: Info,
			Text:   "Another program has a default address, so rondo does not listen there: " + strings.Join(l.Missed, ", ") + ".",
			Advice: "Stop the other program, or name another address.",
		})
	}
	if len(l.Open) > 0 {
		l.lasts(Problem{
			ID: "open", Severity: Info,
			Text:   "Other machines can reach ports that ask for no password: " + strings.Join(l.Open, ", ") + ".",
			Advice: "This is fine in a network that you trust. Otherwise listen on loopback, or use a firewall.",
		})
	}
}

func port(l *look) {
	l.grows(func(s *State) uint64 { return s.HostRefused }, Problem{
		ID: "host", Severity: Info,
		Text:   "HTTP requests are refused, because they use a name that is not this server's.",
		Advice: "If the name is right, tell it to the server by --http-host.",
	})
	l.grows(func(s *State) uint64 { return s.Shed }, Problem{
		ID: "shed", Severity: Warning,
		Text:   "HTTP requests are refused, because too many are under way.",
		Advice: "Look who asks so often. docs/limits.md says how many may be under way.",
	})
}
