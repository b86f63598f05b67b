// Package health says what is wrong with a server, in words, and since when.
//
// A [Watch] looks at the server's figures every few seconds. A problem lasts while a figure is out
// of bounds, or while a counter of losses keeps growing and for a while after.
package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// A State is the figures of a server at one time.
type State struct {
	Now     time.Time
	Started time.Time
	Dir     string // the database's folder
	Store   core.Stats
	// DiskFree and DiskSize are of the disk of Dir, in bytes; 0 means that they are not known.
	DiskFree, DiskSize int64
	// Processor is how long the process has used processors.
	Processor time.Duration
	Receivers []Receiver
	Sink      sink.Stats
	Senders   []sink.Sender
	Sparse    []sink.Sparse
	// Missed are the default addresses that other programs had taken, as flags.
	Missed []string
	// Open are the listeners that other machines reach and that ask for no password.
	Open []string
	// BackupErr says why the last backup failed; nil means that it did not. BackupLast is when the
	// newest whole one began; the zero time means that none is known.
	BackupErr  error
	BackupLast time.Time
	// Alerting is what goes wrong with rules and alerts.
	Alerting alerts.Troubles
	// ConfigBad says that the configuration was read again and not taken; Restart counts settings
	// that wait for a restart.
	ConfigBad bool
	// WebConfig says why the file of --web-config was not taken, or one that it names; nil: all
	// were. WebOpen says that the file asks nobody for credentials.
	WebConfig error
	WebOpen   bool
	Restart   int
	// ClusterErrors and ClusterWarnings are what is wrong with the cluster that the server is a
	// node of, in words.
	ClusterErrors, ClusterWarnings []string
	// HostRefused counts HTTP requests by a name that is not the server's.
	HostRefused uint64
	// Shed counts HTTP requests refused because too many were under way.
	Shed uint64
	// FiguresLate is until when the server's own figures are refused, because its clock was set
	// back; 0: they are not.
	FiguresLate rra.Time
	// Spool is what waits for leaders; zeros if the server is not a node of a cluster.
	Spool Spool
}

// A Spool is samples that wait for the leaders of their partitions.
type Spool struct {
	Bytes, Capacity int64
	Partitions      int
	Oldest          time.Duration // since the oldest came
	Dropped         uint64        // samples
}

// A Receiver is the figures of one receiver.
type Receiver struct {
	Name  string
	Addr  string
	Stats receivers.Stats
}

// Receiver returns the figures of the receiver called name; zeros if it has none.
func (s *State) Receiver(name string) receivers.Stats {
	i := slices.IndexFunc(s.Receivers, func(r Receiver) bool { return r.Name == name })
	if i < 0 {
		return receivers.Stats{}
	}
	return s.Receivers[i].Stats
}

// since returns by how much a counter has grown. A counter that fell has begun anew.
func since(was, is uint64) uint64 {
	if is < was {
		return is
	}
	return is - was
}

// count returns a number with its noun: "1 place", "2 places".
func count(n uint64, noun string) string { return plural(int(n), noun, noun+"s") }

// plural returns a number and what is said of one, or of several.
func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}

// some returns the first of texts, and how many more there are.
func some(all []string, between, more string) string {
	text := strings.Join(all[:min(len(all), named)], between)
	if n := len(all) - named; n > 0 {
		text += fmt.Sprintf("%s%d more", more, n)
	}
	return text
}

// Size returns bytes as people read them.
func Size(n int64) string { return quantity.Plain(quantity.Text(float64(n), "B")) }

// text returns the name of a sender, which may hold anything, fit for a sentence.
func text(name string) string {
	const longest = 80
	if len(name) > longest {
		name = name[:longest]
	}
	if q := strconv.Quote(name); q != `"`+name+`"` || name == "" {
		return q
	}
	return name
}
