//go:build !race

package cluster

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestReadersSeeAllOrAnError asks three nodes for lists, rows, sums and expressions while replicas
// move, bits flip in the database of a node that runs, and nodes are killed in the middle of both.
// Each answer is an error or the same text as before. The replicas with the bits are made anew.
func TestReadersSeeAllOrAnError(t *testing.T) {
	t.Parallel() // most of it is waiting
	o := &operatedCluster{t: t, dir: t.TempDir(), nats: threeServers(t)}
	nodes := make(map[string]*rondotest.Daemon)
	start := func(name string) {
		nodes[name] = rondotest.Serve(t, filepath.Join(o.dir, name), "--node", name, "--cluster", o.nats.URLs(), "--cluster-monitor", strings.Join(o.nats.Monitors(), ","),
			"--cluster-listen", "127.0.0.1:0", "--cluster-partitions", "3", "--cluster-log", "64M")
	}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		start(name)
	}
	t.Cleanup(func() {
		for _, name := range names {
			if t.Failed() && nodes[name] != nil {
				t.Logf("%s:\n%s", name, nodes[name].Log.String())
			}
		}
	})
	fillHosts(t, nodes["a"])
	awaitWhole(t, nodes["a"])
	// A node that is stopped leaves a checkpoint: the rows are in databases.
	for _, name := range names {
		nodes[name].Stop(t)
	}
	for _, name := range names {
		start(name)
	}
	awaitWhole(t, nodes["b"])

	r := newReader(t)
	for _, name := range names {
		r.asks(name, nodes[name].URL)
	}
	r.start()
	for i, text := range r.want {
		if !strings.Contains(text, "h23") && !strings.Contains(text, `"24"`) && i != 3 && !strings.Contains(r.questions[i], "Fetch") {
			t.Fatalf("%s was answered with %s", r.questions[i], text)
		}
	}
	kill := func(name string) {
		r.asks(name, "")
		nodes[name].Kill(t)
		start(name)
		r.asks(name, nodes[name].URL)
	}
	for round := range 6 {
		o.a = nodes[names[round%3]]
		to := ""
		until(t, o.a, "a replica moves", func() bool { // the map may change meanwhile
			on, _ := o.twoOf(round % 3)
			for _, to = range names {
				if !slices.Contains(on, to) {
					break
				}
			}
			_, code := o.run(by(o.a, "move", fmt.Sprint(round%3), on[round%2], to)...)
			return code == 0
		})
		if round%2 == 1 { // in the middle of the copy, or of the first seconds
			time.Sleep(time.Duration(round) * 700 * time.Millisecond)
			kill(to)
		}
		for _, name := range names {
			awaitWhole(t, nodes[name])
		}
	}
	for round := range 4 {
		p := round % 3
		o.a = nodes["a"]
		on, leader := o.twoOf(p)
		name := leader
		if round%2 == 1 { // who follows
			name = on[(slices.Index(on, leader)+1)%len(on)]
		}
		d := nodes[name]
		shortest := 400 // only blocks of rows are so long
		if round > 1 {
			shortest = 16 // the catalogue, too
		}
		if flip(t, d.DB, shortest) == 0 {
			t.Fatal("there is nothing to flip a bit of")
		}
		t.Logf("bits flip in the database of %s, which leads partition %d: %v", name, p, name == leader)
		until(t, d, "the damage is found", func() bool { return metricOf(t, metricsOf(t, d), "rondo_cluster_quarantines_total") > 0 })
		if round%2 == 1 {
			kill(name)
		}
		for _, name := range names {
			awaitWhole(t, nodes[name])
			r.all(name)
		}
	}
	r.stop()
	o.a = nodes["a"]
	if out, code := o.run(by(o.a, "check")...); code != 0 {
		t.Errorf("cluster check: %d\n%s", code, out)
	}
	for _, name := range names {
		nodes[name].Stop(t)
	}
}

// twoOf returns the two nodes that have a replica of a partition, once one of them leads.
func (o *operatedCluster) twoOf(partition int) (nodes []string, leader string) {
	o.t.Helper()
	until(o.t, o.a, "a partition has two replicas", func() bool {
		nodes, leader = nil, ""
		for _, r := range o.rows(by(o.a, "partitions", fmt.Sprint(partition))...) {
			switch state := r["state"].(string); state {
			case "leads":
				leader = r["node"].(string)
				fallthrough
			case "current":
				nodes = append(nodes, r["node"].(string))
			}
		}
		return len(nodes) == 2 && leader != ""
	})
	return nodes, leader
}

const (
	hostsBegin  = 1_700_000_000
	hostsRounds = 600
	hosts       = 24
)

// fillHosts writes a reading of each of some hosts each 10 s.
func fillHosts(t *testing.T, through *rondotest.Daemon) {
	t.Helper()
	for from := 0; from < hostsRounds; from += 50 {
		var lines strings.Builder
		for i := from; i < from+50; i++ {
			for h := range hosts {
				fmt.Fprintf(&lines, "cpu,host=h%d idle=%d.%d %d\n", h, 100*h+i%37, i*i%10, hostsBegin+10*i)
			}
		}
		send := func() error {
			r, err := http.Post(through.URL+"/write?precision=s", "text/plain", strings.NewReader(lines.String()))
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r.Body)
			_ = r.Body.Close() // it was read
			if err == nil && r.StatusCode/100 != 2 {
				err = fmt.Errorf("%s: %s", r.Status, text)
			}
			return err
		}
		err := send()
		for end := time.Now().Add(2 * time.Minute); err != nil; err = send() {
			if time.Now().After(end) {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // as senders do
		}
	}
}

// flip flips a bit in the middle of each value of some length in the databases of all replicas of a
// node, and returns how many. It reads the pages of bbolt: a leaf has flag 2, and its elements say
// where a value is.
func flip(t *testing.T, dir string, shortest int) (flipped int) {
	t.Helper()
	const page = 4096
	files, err := filepath.Glob(filepath.Join(dir, "replicas", "p*", "rondo.bolt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
		for at := 0; at+page <= len(b); at += page {
			if binary.LittleEndian.Uint64(b[at:]) != uint64(at/page) || binary.LittleEndian.Uint16(b[at+8:]) != 2 {
				continue
			}
			for i := range min(int(binary.LittleEndian.Uint16(b[at+10:])), (page-16)/16) {
				e := at + 16 + 16*i
				value, size := e+u32(e+4)+u32(e+8), u32(e+12)
				if size < shortest || value+size > len(b) {
					continue
				}
				mid := value + size/2
				if _, err := f.WriteAt([]byte{b[mid] ^ 4}, int64(mid)); err != nil {
					t.Fatal(err)
				}
				flipped++
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return flipped
}

// A reader asks nodes the same questions again and again.
type reader struct {
	*testing.T
	client    http.Client
	questions []string
	done      chan struct{}
	ended     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	urls    map[string]string
	want    []string // the first answer to each question
	answers int
	failed  map[string]int
}

func newReader(t *testing.T) *reader {
	at := hostsBegin + 10*hostsRounds - 100
	r := &reader{T: t, client: http.Client{Timeout: time.Minute}, done: make(chan struct{}), urls: make(map[string]string), failed: make(map[string]int)}
	for _, q := range []string{
		"/api/v1/query?query=count(cpu_idle)&time=%d",
		"/api/v1/query?query=sort(sum_over_time(cpu_idle[100m]))&time=%d",
		"/api/v1/query?query=sort(max_over_time(cpu_idle[100m]))&time=%d",
		"/api/v1/query?query=sum(sum_over_time(cpu_idle[100m]))&time=%d",
		"/api/v1/series?match[]=%%7Bhost=~%%22h.%%2B%%22%%7D&end=%d",
		"/api/v1/label/host/values?match[]=cpu_idle&end=%d",
	} {
		r.questions = append(r.questions, fmt.Sprintf(q, at))
	}
	for method, message := range map[string]string{
		"List": `{"prefix":"influx/cpu/","limit":1000}`, "Labels": `{"name":"host"}`,
		"Fetch": fmt.Sprintf(`{"path":"influx/cpu/host=h23/idle","cf":"AVERAGE","start":"%d","end":"%d"}`, hostsBegin, at),
	} {
		r.questions = append(r.questions, "/rondo.v1.Rondo/"+method+"?connect=v1&encoding=json&message="+url.QueryEscape(message))
	}
	r.want = make([]string, len(r.questions))
	return r
}

// asks lets a node be asked at an address; empty: it is asked no more.
func (r *reader) asks(name, url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls[name] = url
}

// start asks each question of each node, which must answer, and then goes on until stop.
func (r *reader) start() {
	for _, name := range []string{"a", "b", "c"} {
		r.all(name)
	}
	for _, name := range []string{"a", "b", "c"} {
		r.ended.Go(func() {
			for {
				select {
				case <-r.done:
					return
				case <-time.After(100 * time.Millisecond):
				}
				for i := range r.questions {
					if err := r.ask(name, i); err != nil {
						r.mu.Lock()
						r.failed[err.Error()]++
						r.mu.Unlock()
					}
				}
			}
		})
	}
}

func (r *reader) stop() {
	close(r.done)
	r.ended.Wait()
	n, first := 0, ""
	for text, times := range r.failed {
		n, first = n+times, text
	}
	r.Logf("%d answers, %d errors: %.300s", r.answers, n, first)
}

// all asks a node all questions, which must be answered.
func (r *reader) all(name string) {
	r.Helper()
	for i := range r.questions {
		err := r.ask(name, i)
		for end := time.Now().Add(time.Minute); err != nil; err = r.ask(name, i) {
			if time.Now().After(end) {
				r.Errorf("node %s does not answer: %v", name, err)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// ask asks a node a question. An answer that is not the same as before fails the test.
func (r *reader) ask(name string, i int) error {
	r.mu.Lock()
	at := r.urls[name]
	r.mu.Unlock()
	if at == "" {
		return nil
	}
	resp, err := r.client.Get(at + r.questions[i])
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it is read
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || strings.Contains(string(body), "nextPage")) { // that has the error
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(body), " ", "") // spaces of protobuf's JSON are random
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers++
	switch {
	case r.want[i] == "":
		r.want[i] = text
	case r.want[i] != text:
		r.Errorf("node %s answered %s with %.2000s, and before %.2000s", name, r.questions[i], text, r.want[i])
	}
	return nil
}
