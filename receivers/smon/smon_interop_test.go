package smon

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A part is what the sender meant between two resets.
type part struct {
	Tag    string // all names begin with it
	Values []struct {
		Type, Name, Value string
		Index             []string
	}
	Damaged bool // what came after it was
}

// data returns the values of a part.
func (p *part) data(t testing.TB) []datum {
	t.Helper()
	var ds []datum
	for _, v := range p.Values {
		d := datum{typ: Type(v.Type[0]), name: v.Name}
		for _, s := range v.Index {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			d.index = append(d.index, n)
		}
		if d.typ == String {
			b, err := hex.DecodeString(v.Value)
			if err != nil {
				t.Fatal(err)
			}
			d.text = string(b)
		} else {
			n, err := strconv.ParseUint(v.Value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			d.v = n
		}
		ds = append(ds, d)
	}
	return ds
}

func (d datum) path() string {
	return Identify("127.0.0.1", &Token{Name: d.name}, d.index).Path
}

// runSender has the Python sender send a random stream to address, and returns the stream and what
// it meant.
func runSender(t testing.TB, seed uint64, mode, address string) ([]byte, []part) {
	t.Helper()
	dir := t.TempDir()
	stream, expected := filepath.Join(dir, "stream"), filepath.Join(dir, "expected")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, rrdtooltest.Peer(t, "python3"), "-B", "testdata/sender.py", strconv.FormatUint(seed, 10), mode, address, stream, expected)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sender: %v\n%s", err, out)
	}
	b, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	return b, parts
}

// TestPythonSender: random streams of a sender that knows nothing of this package are stored as
// they were meant; what comes after damage and a reset is right again.
func TestPythonSender(t *testing.T) {
	seed := seedtest.One(t)
	streams, values := uint64(seedtest.Programs(8, 20)), 0
	for n := range streams {
		mode := [...]string{"clean", "damaged"}[n%2]
		t.Run(fmt.Sprintf("%s %d", mode, seed+n), func(t *testing.T) {
			r, _, _ := start(t, new(receivertest.Recorder), nil)
			stream, parts := runSender(t, seed+n, mode, r.Addr().String())
			until(t, "all is read", func() bool { s := r.Stats(); return s.Bytes == uint64(len(stream)) && s.Connections == 0 })
			r.Stop()
			checkDecoded(t, stream, parts, seed)
			checkStored(t, r, parts)
			for _, p := range parts {
				values += len(p.Values)
			}
		})
	}
	t.Logf("%d programs, %d values", streams, values)
}

// checkDecoded: the stream, in random pieces, decodes to each part's values in order.
func checkDecoded(t *testing.T, stream []byte, parts []part, seed uint64) {
	t.Helper()
	var d Decoder
	var c collector
	r := rand.New(rand.NewPCG(seed, 1))
	_ = d.Decode(&pieces{stream, func() int { return 1 + r.IntN(1+r.IntN(2000)) }}, &c) // io.EOF
	for i := range parts {
		p := &parts[i]
		var got []datum
		for _, d := range c.data {
			if strings.HasPrefix(d.name, p.Tag) {
				got = append(got, d)
			}
		}
		want := p.data(t)
		if p.Damaged { // which may have made values of it too
			got = got[:min(len(got), len(want))]
		}
		if got, want := lines(got), lines(want); got != want {
			t.Fatalf("part %d of %d, errors %q (-want +got):\n%s", i+1, len(parts), c.errs, cmp.Diff(want, got))
		}
	}
}

// checkStored: each series has the values that were meant, in order, and each text is the last.
func checkStored(t *testing.T, r *receivertest.Running, parts []part) {
	t.Helper()
	got := make(map[string][]rra.Value)
	for _, s := range r.Recorder.Samples() {
		got[s.Path] = append(got[s.Path], s.Values...)
	}
	var texts map[string]core.Metadata
	r.Until("texts", func(s receivertest.State) bool { texts = s.Texts; return true })
	for i := range parts {
		p := &parts[i]
		want, last := make(map[string][]rra.Value), make(map[string]string)
		for _, d := range p.data(t) {
			if d.typ == String {
				last[d.path()] = text.Cut(receivers.Text([]byte(d.text[:min(len(d.text), keptText)])), keptText)
				continue
			}
			want[d.path()] = append(want[d.path()], rra.Uint(d.v))
		}
		for path, vs := range want {
			g := got[path]
			if p.Damaged {
				g = g[:min(len(g), len(vs))]
			}
			if diff := cmp.Diff(vs, g); diff != "" {
				t.Fatalf("part %d of %d: %s (-want +got):\n%s", i+1, len(parts), path, diff)
			}
		}
		for path, text := range last {
			if !p.Damaged && texts[path].Text != text {
				t.Fatalf("part %d of %d: %s is %q, want %q", i+1, len(parts), path, texts[path].Text, text)
			}
		}
	}
}
