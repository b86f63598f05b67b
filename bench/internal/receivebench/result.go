package receivebench

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// A Result is the result of Run.
type Result struct {
	Protocol string    `json:"protocol"`
	Rate     float64   `json:"rate"` // the wanted values a second
	Rondo    Measured  `json:"rondo"`
	PeerName string    `json:"peer_name,omitempty"`
	Peer     *Measured `json:"peer,omitempty"` // nil: not measured
}

// Measured is the result of one program. A value is one reading of one data source.
type Measured struct {
	Rate    float64 `json:"rate"`    // the wanted values a second
	Values  uint64  `json:"values"`  // values that were sent
	Packets uint64  `json:"packets"` // packets that were sent
	// Stored is the number of values that were stored or, by a peer that stores nothing,
	// dispatched.
	Stored       uint64 `json:"stored"`
	StoredSeries uint64 `json:"stored_samples"` // samples that contain these values
	// LostPackets were dropped by the kernel, because they were not read in time.
	LostPackets uint64  `json:"lost_packets"`
	Loss        float64 `json:"loss"` // 1 - Stored/Values
	// GaveUp says that the program was still busy long after the last packet. What it had not done
	// then counts as lost.
	GaveUp          bool    `json:"gave_up"`
	SendSeconds     float64 `json:"send_seconds"`      // duration of sending
	Seconds         float64 `json:"seconds"`           // until all that is not lost was stored
	SentPerSecond   float64 `json:"sent_per_second"`   // Values/SendSeconds
	ValuesPerSecond float64 `json:"values_per_second"` // Stored/Seconds
	User            float64 `json:"user_seconds"`      // processor time of the receiver
	System          float64 `json:"system_seconds"`
	CPUPerMillion   float64 `json:"cpu_seconds_per_million"` // of the receiver, for values stored
	SenderSeconds   float64 `json:"sender_cpu_seconds"`
	SenderPerMil    float64 `json:"sender_cpu_seconds_per_million"` // for values sent

	// The figures below are rondo's alone.
	Dropped         map[string]uint64 `json:"dropped,omitempty"` // samples and packets, by reason
	AllocsPerValue  float64           `json:"allocs_per_value"`
	BytesPerSample  float64           `json:"log_bytes_per_sample"`
	SamplesPerBatch float64           `json:"samples_per_batch"`
	Checkpoints     uint64            `json:"checkpoints"`
	PeakRSS         int64             `json:"peak_rss_bytes"`
	// Verified is the number of series whose last update and readings equal what was sent.
	Verified int `json:"verified_series"`

	begin, end progress
}

// figure calculates the figures that follow from others.
func (m *Measured) figure() {
	m.Loss = 1 - ratio(float64(m.Stored), float64(m.Values))
	m.SentPerSecond = ratio(float64(m.Values), m.SendSeconds)
	m.ValuesPerSecond = ratio(float64(m.Stored), m.Seconds)
	m.CPUPerMillion = ratio((m.User+m.System)*1e6, float64(m.Stored))
	m.SenderPerMil = ratio(m.SenderSeconds*1e6, float64(m.Values))
	m.PeakRSS = m.end.snapshot.PeakRSS
}

// ofChild sets the figures that only rondo's receiver reports.
func (m *Measured) ofChild() {
	a, b := &m.begin.snapshot, &m.end.snapshot
	for r := range receivers.NumReasons {
		if n := b.Receiver.Dropped[r] - a.Receiver.Dropped[r]; n > 0 {
			if m.Dropped == nil {
				m.Dropped = make(map[string]uint64)
			}
			m.Dropped[r.String()] = n
		}
	}
	m.AllocsPerValue = ratio(float64(b.Allocs-a.Allocs), float64(m.Stored))
	samples := float64(b.Store.SamplesAccepted - a.Store.SamplesAccepted)
	m.BytesPerSample = ratio(float64(b.Store.LogWritten-a.Store.LogWritten), samples)
	m.SamplesPerBatch = ratio(samples, float64(b.Store.Batches-a.Store.Batches))
	m.Checkpoints = b.Store.Checkpoints - a.Store.Checkpoints
}

// ratio is a/b, or 0 where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// WriteJSON writes the figures as one object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the figures for people.
func (r *Result) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	sides := []*Measured{&r.Rondo}
	row := func(name string, format func(*Measured) string) {
		_, _ = fmt.Fprint(t, name) // Flush returns the error
		for _, m := range sides {
			_, _ = fmt.Fprintf(t, "\t%s", format(m)) // as above
		}
		_, _ = fmt.Fprintln(t) // as above
	}
	if r.Peer != nil {
		sides = append(sides, r.Peer)
		_, _ = fmt.Fprintf(t, "%s\trondo\t%s\n", r.Protocol, r.PeerName) // as above
	}
	million := func(v float64) string { return fmt.Sprintf("%.3f million", v/1e6) }
	row("values a second, asked for", func(m *Measured) string { return million(m.Rate) })
	row("values a second, sent", func(m *Measured) string { return million(m.SentPerSecond) })
	row("values a second, stored", func(m *Measured) string { return million(m.ValuesPerSecond) })
	row("values sent", func(m *Measured) string { return fmt.Sprintf("%d in %d packets", m.Values, m.Packets) })
	row("values stored", func(m *Measured) string { return fmt.Sprint(m.Stored) })
	row("lost", func(m *Measured) string {
		s := fmt.Sprintf("%.4f %%, %d packets by the kernel%s", m.Loss*100, m.LostPackets, reasons(m.Dropped))
		if m.GaveUp {
			s += fmt.Sprintf(", and what was not done after %v", peerDrain)
		}
		return s
	})
	row("CPU seconds a million values", func(m *Measured) string {
		return fmt.Sprintf("%.3f (user %.2f s, system %.2f s)", m.CPUPerMillion, m.User, m.System)
	})
	row("the sender's", func(m *Measured) string { return fmt.Sprintf("%.3f", m.SenderPerMil) })
	row("peak memory", func(m *Measured) string { return fmt.Sprintf("%.1f MB", float64(m.PeakRSS)/1e6) })
	sides = sides[:1]
	row("allocations a value", func(m *Measured) string { return fmt.Sprintf("%.5f", m.AllocsPerValue) })
	row("store", func(m *Measured) string {
		return fmt.Sprintf("%.2f bytes of log a sample, %.0f samples a batch, %d checkpoints", m.BytesPerSample, m.SamplesPerBatch, m.Checkpoints)
	})
	row("verified", func(m *Measured) string { return fmt.Sprintf("%d series end as they were sent", m.Verified) })
	return t.Flush()
}

// reasons lists what was dropped.
func reasons(dropped map[string]uint64) string {
	var b strings.Builder
	for r := range receivers.NumReasons {
		if n := dropped[r.String()]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, r)
		}
	}
	return b.String()
}

// A progress is what a target has done since it was started.
type progress struct {
	at           time.Time
	read         uint64 // messages
	lost         uint64 // messages that the kernel dropped
	taken        uint64 // samples handed to the store
	stored       uint64 // of these
	values       uint64 // in them; 0: not counted
	user, system time.Duration
	snapshot     snapshot // of a child
}
