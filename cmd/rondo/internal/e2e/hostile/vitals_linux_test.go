package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// metrics are the samples of the server's page, by name and labels.
type metrics map[string]float64

// of returns the metric of a receiver.
func (m metrics) of(name, receiver string) float64 {
	return m[fmt.Sprintf(`%s{receiver="%s"}`, name, receiver)]
}

func (h *hostility) metrics() metrics {
	h.t.Helper()
	m, err := h.readMetrics()
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

func (h *hostility) readMetrics() (metrics, error) {
	r, err := http.Get(h.server.URL + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }() // read to its end
	m := make(metrics)
	s := bufio.NewScanner(r.Body)
	for s.Scan() {
		name, value, ok := strings.Cut(s.Text(), " ")
		if strings.HasPrefix(name, "#") || !ok {
			continue
		}
		// Values of labels have no spaces here.
		if m[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("%q: %w", s.Text(), err)
		}
	}
	return m, s.Err()
}

// last returns the last reading of a good series, or -1 if the series has no reading.
func (h *hostility) last(path string) (float64, error) {
	r, err := http.Post(h.server.URL+"/rondo.v1.Rondo/Info", "application/json", strings.NewReader(fmt.Sprintf(`{"path":%q}`, path)))
	if err != nil {
		return -1, err
	}
	defer func() { _ = r.Body.Close() }() // read to its end
	var info struct {
		Sources []struct {
			LastReading string `json:"lastReading"`
		} `json:"sources"`
	}
	if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
		return -1, err
	}
	if len(info.Sources) == 0 {
		return -1, nil
	}
	v, err := strconv.ParseFloat(info.Sources[0].LastReading, 64)
	if err != nil {
		return -1, nil // unknown yet
	}
	return v, nil
}

// vitals are what a process takes.
type vitals struct {
	private, resident, goroutines, files, database, log int64
}

// watch looks at the server now and then until ctx ends.
func (h *hostility) watch(ctx context.Context, every time.Duration) (seen []vitals) {
	for pass(ctx, every) {
		v, err := h.vitals()
		if err != nil {
			h.t.Errorf("the server does not say how it is: %v", err)
			return seen
		}
		seen = append(seen, v)
	}
	return seen
}

func (h *hostility) vitals() (v vitals, err error) {
	m, err := h.readMetrics()
	if err != nil {
		return v, err
	}
	v.goroutines = int64(m["go_goroutines"])
	v.database = int64(m["rondo_database_bytes"])
	v.log = int64(m["rondo_log_bytes"])
	proc := fmt.Sprint("/proc/", h.server.Cmd.Process.Pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return v, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		to := map[string]*int64{"RssAnon:": &v.private, "VmRSS:": &v.resident}[f[0]]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseInt(f[1], 10, 64); err != nil {
			return v, err
		}
		*to <<= 10
	}
	files, err := os.ReadDir(proc + "/fd")
	v.files = int64(len(files))
	return v, err
}

// most returns the largest of one of the vitals.
func most(seen []vitals, of func(vitals) int64) int64 {
	m := int64(0)
	for _, v := range seen {
		m = max(m, of(v))
	}
	return m
}

const (
	mostPrivate = 768 << 20       // bytes, with --memory 256M: the budget, what is outside of it, and garbage
	memorySlack = 32 << 20        // that memory may grow from the second third of a run to the last
	steadyRun   = 3 * time.Minute // from which on memory does not grow: a shorter run still fills what is bounded
	mostOwn     = 200             // files, and goroutines, beside the ones of connections
)

func (h *hostility) judgeVitals(seen []vitals, d time.Duration) {
	h.t.Helper()
	if len(seen) < 9 {
		h.t.Logf("the server has told %d times how it is", len(seen))
		if d >= longRun {
			h.t.Error("it hardly answers")
		}
		return
	}
	private := func(v vitals) int64 { return v.private }
	third := len(seen) / 3
	thirds := [][]vitals{seen[:third], seen[third : 2*third], seen[2*third:]}
	for i, s := range thirds {
		h.t.Logf("third %d: private memory up to %d MB, resident %d MB, %d goroutines, %d files, database %d MB, log %d MB", i+1,
			most(s, private)>>20, most(s, func(v vitals) int64 { return v.resident })>>20,
			most(s, func(v vitals) int64 { return v.goroutines }), most(s, func(v vitals) int64 { return v.files }),
			most(s, func(v vitals) int64 { return v.database })>>20, most(s, func(v vitals) int64 { return v.log })>>20)
	}
	if m := most(seen, private); m > mostPrivate {
		h.t.Errorf("private memory of %d MB", m>>20)
	}
	if a, b := most(thirds[1], private), most(thirds[2], private); d >= steadyRun && b > a+a/20+memorySlack {
		h.t.Errorf("private memory grows: up to %d MB in the second third, %d MB in the last", a>>20, b>>20)
	}
	conns := int64(0)
	for _, v := range h.victims {
		if strings.Contains(networkOf(v.name), "tcp") {
			conns += mostConns
		}
	}
	if n := most(seen, func(v vitals) int64 { return v.files }); n > conns+mostOwn {
		h.t.Errorf("%d open files", n)
	}
	if n := most(seen, func(v vitals) int64 { return v.goroutines }); n > 2*conns+mostOwn {
		h.t.Errorf("%d goroutines", n)
	}
}

// quiet waits until the connections of attackers are gone, and nothing of them is left. A server
// that still reads what they have sent is given more time.
func (h *hostility) quiet(before metrics) {
	h.t.Helper()
	own := slices.Max([]int64{mostOwn / 2, int64(before["go_goroutines"]) + 20})
	read := 0.0
	for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(20 * time.Millisecond) {
		m := h.metrics()
		v, err := h.vitals()
		if err != nil {
			h.t.Fatal(err)
		}
		connections, now := 0.0, 0.0
		for _, x := range h.victims {
			connections += m.of("rondo_receiver_connections", x.name) - before.of("rondo_receiver_connections", x.name)
			now += m.of("rondo_receiver_bytes_total", x.name)
		}
		if connections <= 0 && v.goroutines <= own && v.files <= own {
			return
		}
		if now > read {
			read, deadline = now, time.Now().Add(rondotest.Patience)
		}
		if time.Now().After(deadline) {
			h.t.Errorf("after the attack: %v connections, %d goroutines, %d files", connections, v.goroutines, v.files)
			return
		}
	}
}
