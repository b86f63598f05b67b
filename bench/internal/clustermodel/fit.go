package clustermodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/rondo-db/rondo/bench/internal/clusterbench"
)

// ReadRun reads what `rondo-bench cluster --json` prints.
func ReadRun(r io.Reader) (x clusterbench.Result, err error) {
	if err := json.NewDecoder(r).Decode(&x); err != nil {
		return x, fmt.Errorf("read a run: want what rondo-bench cluster --json prints: %w", err)
	}
	for _, l := range []*clusterbench.Load{&x.Full, &x.Half} {
		if x.Partitions < 1 || x.Batch < 1 || x.Replicas < 2 || l.Samples < 1 || l.Batches < 1 || l.Messages < 1 || l.LogBytes < 1 || !(l.Nodes > 0 && l.Servers > 0 && l.Driver > 0) {
			return x, errors.New("read a run: figures are missing: it must be of this version, with --half-seconds more than 0")
		}
	}
	if x.Catch.Samples < 1 || !(x.Catch.CPU > 0) {
		return x, errors.New("read a run: no figures of a node that was away")
	}
	return x, nil
}

// leastRuns is how many runs Fit needs.
const leastRuns = 4

// Fit returns the service times that come nearest to the processor time that runs took: what each
// kind of process took is a sum of so much for each sample, part of a batch, message and byte. Runs
// must differ in partitions and batches. All times of processors are multiplied by scale: 1 if the
// runs were alone on the machine. Times that runs do not show stay as they are.
func (t Times) Fit(runs []clusterbench.Result, scale float64) (Times, error) {
	if len(runs) < leastRuns {
		return t, fmt.Errorf("%d runs: want %d or more, with several --partitions and --batch", len(runs), leastRuns)
	}
	if !(scale > 0 && scale <= 10) {
		return t, fmt.Errorf("--scale %v: want more than 0, up to 10", scale)
	}
	var senders, nodes, servers, catches, logs equations
	for i := range runs {
		r := &runs[i]
		parts := float64(partsOf(r.Partitions, r.Batch))
		for _, l := range []*clusterbench.Load{&r.Full, &r.Half} {
			n, batches, messages := float64(l.Samples), float64(l.Batches), float64(l.Messages)
			million := n / 1e6
			senders.add(l.Driver*million, batches, batches*parts, n, l.Seconds)
			nodes.add(l.Nodes*million, batches*parts, n, messages, l.Seconds)
			servers.add(l.Servers*million, messages, float64(l.LogBytes), l.Seconds)
			logs.add(float64(l.LogBytes), n, messages)
		}
		// What it missed was sent in batches such as those before. Its start takes some time too.
		n := float64(r.Catch.Samples)
		catches.add(r.Catch.CPU*n/1e6, n, n/float64(r.Batch)*parts, 1)
	}
	s, n, v, c, l := senders.solve(), nodes.solve(), servers.solve(), catches.solve(), logs.solve()
	replicas := float64(runs[0].Replicas)
	// A replica that catches up reads large pieces. It takes the time of applying.
	sample, record := min(c[0], n[1]/replicas), min(c[1], n[0]/replicas)
	return t.fitted(scale, map[string]float64{
		"sender_batch": s[0], "sender_part": s[1], "sender_sample": s[2],
		"take_part": n[0] - replicas*record, "take_sample": n[1] - replicas*sample,
		"apply_record": record, "apply_sample": sample,
		"log_message": n[2] / 2, "follow_round": n[2] / 2,
		"node_idle":      n[3] / float64(runs[0].Nodes),
		"server_message": v[0] * (1 - readShare), "server_byte": v[1], "server_read": v[0] * readShare / 2,
		"server_idle": v[2] / copies,
	}, map[string]float64{"log_sample": l[0], "log_message_bytes": l[1]})
}

// readShare is which part of what servers do for a message is the reading of a follower, which asks
// twice: the second time it finds nothing.
const readShare = 0.2

// fitted returns the times with processor times, which are scaled, and other figures replaced.
func (t Times) fitted(scale float64, cpu, others map[string]float64) (Times, error) {
	t.all = slices.Clone(t.all)
	for i := range t.all {
		x := &t.all[i]
		if v, ok := cpu[x.Name]; ok {
			x.Value = v * scale
		} else if v, ok := others[x.Name]; ok {
			x.Value = v
		} else {
			continue
		}
		x.Value, x.From = round(x.Value), "measured"
	}
	b, err := json.Marshal(t.all)
	if err != nil {
		return t, err
	}
	return t.With(b)
}

// round returns a value with three digits.
func round(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // never fails
	return r
}

// equations say what work takes.
type equations struct {
	rows [][]float64
	want []float64
}

// add says that so much of each kind of work took so long. What took no time is left out.
func (e *equations) add(took float64, work ...float64) {
	if took > 0 {
		e.rows, e.want = append(e.rows, work), append(e.want, took)
	}
}

func (e *equations) solve() []float64 { return leastSquares(e.rows, e.want) }

// partsOf returns how many partitions have samples in a batch whose series are spread at random.
func partsOf(partitions, batch int) int {
	p := float64(partitions)
	return max(int(math.Round(p*(1-math.Exp(-float64(batch)/p)))), 1)
}
