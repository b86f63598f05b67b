package mono

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A python agent is testdata/agent.py, which knows the protocol from its description.
type python struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	ended   bool
	version string
	truth   map[string][]receivertest.Sample // what the receiver must have made of its samples, by path without mono/PEER/
}

// A deed is a line that the agent prints.
type deed struct {
	Did, Because, Name string
	At                 rra.Time
	Values             map[string]string
	Index              int
	Names              []string
	Version            string
}

func startPython(t testing.TB, r *receivertest.Running, d Dialect, seed int) *python {
	t.Helper()
	interpreter := rrdtooltest.Peer(t, "python3")
	host, port, err := net.SplitHostPort(r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p := &python{t: t, truth: make(map[string][]receivertest.Sample)}
	p.cmd = exec.CommandContext(ctx, interpreter, filepath.Join("testdata", "agent.py"), host, port, d.String(), fmt.Sprint(seed))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if !p.ended {
			_ = p.cmd.Wait() // it was killed
		}
	})
	p.version = p.next("hello").Version
	return p
}

// next returns the next thing that the agent has done, which must be what.
func (p *python) next(what string) deed {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the agent has ended: %v", p.out.Err())
	}
	var d deed
	if err := json.Unmarshal(p.out.Bytes(), &d); err != nil {
		p.t.Fatal(err)
	}
	if d.Did != what {
		p.t.Fatalf("the agent has done %s, want %s", p.out.Bytes(), what)
	}
	if what == "sample" {
		for name, text := range d.Values {
			typ := Long
			if strings.Contains(text, "x") {
				typ = Double
			}
			p.truth[name] = append(p.truth[name], receivertest.Sample{At: d.At, Values: []rra.Value{parseExact(p.t, typ, text)}})
		}
	}
	return d
}

// do has the agent do something.
func (p *python) do(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// end waits until the process has ended, and returns how.
func (p *python) end() error {
	p.ended = true
	return p.cmd.Wait()
}

// samples returns how many samples of series it has sent.
func (p *python) samples() (n int) {
	for _, s := range p.truth {
		n += len(s)
	}
	return n
}

// TestPythonAgents: several agents of one address, written from the protocol's description, are
// received at once, asked in both dialects, killed in the middle of a message and sent away; every
// sample is stored as they meant it.
func TestPythonAgents(t *testing.T) {
	seed := int(seedtest.One(t) % 1e9)
	for _, d := range []Dialect{PageDialect, AgentDialect} {
		t.Run(d.String(), func(t *testing.T) {
			rec := new(receivertest.Recorder)
			r := start(t, rec, flagDialect.Name, d.String(), flagAdd.Name, "Mono JIT/Ratio of gains", flagAdd.Name, "Mono System/Cores")
			agents := make([]*python, 3)
			for i := range agents {
				agents[i] = startPython(t, r, d, seed+i)
				agents[i].next("add") // of what every agent is asked for and had not announced
				eventually(t, "its answer is here", func() bool { return r.Stats().Packets == uint64(2*(i+1)) })
			}
			stored := func() {
				t.Helper()
				n := 0
				for _, p := range agents {
					n += p.samples()
				}
				r.UntilSamples(n)
			}
			floods := func() {
				const most = 100
				for _, p := range agents {
					p.do("flood %d", most)
				}
				for _, p := range agents {
					for range most {
						p.next("sample")
					}
				}
				stored()
			}
			floods()
			ask(t, r, agents)
			floods()

			victim := agents[1]
			victim.do("half")
			victim.next("half")
			victim.do("kill")
			if err := victim.end(); err == nil {
				t.Error("a killed agent ends well")
			}
			eventually(t, "it has gone", func() bool { return r.Stats().Connections == 2 })
			again := startPython(t, r, d, seed+7)
			again.next("add")
			peers := result(t, control(t, r, "peers"))
			if n := strings.Count(peers, "\n"); n != 2 || !strings.Contains(peers, "127.0.0.1#2|") {
				t.Errorf("after another has come in its place:\n%s", peers)
			}
			again.do("quit")
			again.next("quit")
			if err := again.end(); err != nil {
				t.Errorf("it quits with %v", err)
			}
			eventually(t, "it has gone", func() bool { return r.Stats().Connections == 2 })

			r.Stop()
			for _, i := range []int{0, 2} {
				agents[i].next("good bye")
				if err := agents[i].end(); err != nil {
					t.Errorf("agent %d ends with %v", i, err)
				}
			}
			want := make(map[string][]receivertest.Sample)
			for i, p := range agents {
				peer := []string{"127.0.0.1", "127.0.0.1#2", "127.0.0.1#3"}[i]
				for name, samples := range p.truth {
					category, name, _ := strings.Cut(name, "/")
					path := pathname.Join("mono", peer, category, name)
					for _, s := range samples {
						s.Path = path
						want[path] = append(want[path], s)
					}
				}
			}
			if diff := cmp.Diff(want, byPath(rec.Samples())); diff != "" {
				t.Errorf("samples (-sent +stored):\n%s", diff)
			}
			var lost [receivers.NumReasons]uint64
			lost[receivers.Truncated] = 1
			if st := r.Stats(); st.Dropped != lost {
				t.Errorf("stats %+v, want one truncated", st)
			}
			t.Logf("peer: %s; %d values compared", agents[0].version, len(rec.Samples()))
		})
	}
}

// ask asks the second of three agents for everything that there is to ask.
func ask(t *testing.T, r *receivertest.Running, agents []*python) {
	t.Helper()
	const peer = "127.0.0.1#2"
	p := agents[1]
	do := func(what string, args ...string) (deed, string) {
		t.Helper()
		out := control(t, r, args...)
		d := p.next(what)
		return d, result(t, out)
	}
	d, got := do("list", "list", peer)
	var names []string
	for line := range strings.Lines(got) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		names = append(names, cells[0]+"/"+cells[1])
	}
	if diff := cmp.Diff(d.Names, names); diff != "" {
		t.Errorf("list (-sent +received):\n%s", diff)
	}
	if d, got := do("add", "add", peer, "Mono Custom/MyApp:Queue/depth"); got != fmt.Sprintf("Mono Custom|MyApp:Queue/depth|%d|long|none|variable", d.Index) {
		t.Errorf("add: %s, the agent says %+v", got, d)
	}
	if _, got := do("add", "add", peer, "Mono Custom/nothing"); !strings.Contains(got, "not found") {
		t.Errorf("add: %s", got)
	}
	if got := result(t, control(t, r, "add", peer, "Mono GC/Minor GC collections")); !strings.Contains(got, "is sampled already") {
		t.Errorf("add what is sampled: %s", got) // the agent would hang up
	}
	if d, _ := do("remove", "remove", peer, "Mono JIT/JIT time"); d.Name != "Mono JIT/JIT time" {
		t.Errorf("removed %+v", d)
	}
	if d, _ := do("remove", "remove", peer, "2"); d.Name != "Mono Metadata/Loaded bytes" {
		t.Errorf("removed %+v", d)
	}
	if d, got := do("add", "add", peer, "Mono JIT/JIT time"); got != fmt.Sprintf("Mono JIT|JIT time|%d|long|100ns|monotonic", d.Index) {
		t.Errorf("added again: %s, the agent says %+v", got, d)
	}
}
