package figures

import (
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// writeSink writes the metrics of the sink, which all receivers share.
func writeSink(w *metrics.Writer, st sink.Stats) {
	w.Counter("rondo_series_made_total", "Series made because a receiver saw a new one.", float64(st.Made))
	writeCounts(w, "rondo_series_refused_total", "Series, and paths of metadata, not made, by reason; one that is tried again counts again.",
		"reason", st.Refused[:], func(i int) string { return sink.Refusal(i).String() })
	w.Gauge("rondo_senders", "Senders whose allowance of new series is kept apart.", float64(st.Senders))
}

// receiverFamilies are the metrics of a receiver that are one number, and series of the server. One
// without a help is a sum of metrics with more labels.
var receiverFamilies = []struct {
	series, metric string // as in figure
	kind           rra.Kind
	help           string
	value          func(receivers.Stats) float64
}{
	{"packets", "rondo_receiver_packets_total", rra.Derive, "Datagrams, messages or files read.", func(s receivers.Stats) float64 { return float64(s.Packets) }},
	{"", "rondo_receiver_bytes_total", rra.Derive, "Bytes in them.", func(s receivers.Stats) float64 { return float64(s.Bytes) }},
	{"samples", "rondo_receiver_samples_total", rra.Derive, "Samples handed to the store.", func(s receivers.Stats) float64 { return float64(s.Samples) }},
	{"", "rondo_receiver_values_total", rra.Derive, "Values in these samples.", func(s receivers.Stats) float64 { return float64(s.Values) }},
	{"", "rondo_receiver_notes_total", rra.Derive, "Events that are not numbers.", func(s receivers.Stats) float64 { return float64(s.Notes) }},
	{"dropped", "rondo_receiver_dropped_total", rra.Derive, "", func(s receivers.Stats) float64 { return sum(s.Dropped[:]) }},
	{"kernel_dropped", "rondo_receiver_kernel_dropped_total", rra.Derive, "Datagrams lost because the socket's buffer was full.", func(s receivers.Stats) float64 { return float64(s.KernelDropped) }},
	{"", "rondo_receiver_connections", rra.Gauge, "Peers connected.", func(s receivers.Stats) float64 { return float64(s.Connections) }},
	{"series", "rondo_receiver_series", rra.Gauge, "Series the receiver holds references of.", func(s receivers.Stats) float64 { return float64(s.Series) }},
}

func receiverFigures(rs []Receiver) []figure {
	var fs []figure
	for _, r := range rs {
		for _, f := range receiverFamilies {
			if f.series != "" {
				fs = append(fs, figure{r.Name + "/" + f.series, f.metric, f.kind, "", f.value(r.Stats)})
			}
		}
	}
	return fs
}

func writeReceivers(w *metrics.Writer, rs []Receiver) {
	if len(rs) == 0 {
		return
	}
	for _, f := range receiverFamilies {
		if f.help == "" {
			continue
		}
		w.Family(f.metric, kindOf(f.kind), f.help)
		for _, r := range rs {
			w.Sample(f.value(r.Stats), "receiver", r.Name)
		}
	}
	w.Family("rondo_receiver_dropped_total", "counter", "Samples, or rests of packets, not stored, by reason.")
	for _, r := range rs {
		for reason := range receivers.NumReasons {
			w.Sample(float64(r.Stats.Dropped[reason]), "receiver", r.Name, "reason", reason.String())
		}
	}
}

// writeSenders writes how many senders each receiver has heard, and when it heard one last. Each
// sender has no metric of its own: there may be very many.
func writeSenders(w *metrics.Writer, rs []Receiver, senders []sink.Sender) {
	count, last := make(map[string]int), make(map[string]time.Time)
	for _, s := range senders {
		count[s.Prefix]++
		if s.Last.After(last[s.Prefix]) {
			last[s.Prefix] = s.Last
		}
	}
	w.Family("rondo_receiver_senders", "gauge", "Senders heard since the start.")
	for _, r := range rs {
		w.Sample(float64(count[r.Prefix]), "receiver", r.Name)
	}
	w.Family("rondo_receiver_last_seen_timestamp_seconds", "gauge", "When a sender was heard last, seconds since 1970; 0: never.")
	for _, r := range rs {
		seen := 0.0
		if t := last[r.Prefix]; !t.IsZero() {
			seen = float64(t.UnixMilli()) / 1000
		}
		w.Sample(seen, "receiver", r.Name)
	}
}
