package smon

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
)

const captures = "../../testdata/captures/smon/"

// An event is one call of a Handler, as the manifest writes it.
type event struct {
	Event  string   `json:"event"`
	Token  uint16   `json:"token"`
	Type   string   `json:"type"`
	Name   string   `json:"name"`
	Own    []uint64 `json:"own"`
	Index  []uint64 `json:"index"`
	Value  string   `json:"value"`
	Series *string  `json:"series"`
	Kind   string   `json:"kind"`
	Offset int      `json:"offset"`
}

func (e event) String() string {
	return fmt.Sprintf("%s %d %s %q %v %v %q %s %d\n", e.Event, e.Token, e.Type, e.Name, e.Own, e.Index, e.Value, e.Kind, e.Offset)
}

// A recorder is a Handler that remembers.
type recorder struct {
	events []event
}

func (r *recorder) Declare(t *Token) {
	r.events = append(r.events, event{
		Event: "declare", Token: t.Number, Type: string(t.Type), Name: t.Name, Own: append([]uint64{}, t.Index...),
	})
}

func (r *recorder) Unsigned(t *Token, index []uint64, v uint64) {
	series := Identify("$PEER", t, index).Path
	r.events = append(r.events, event{
		Event: "value", Token: t.Number, Type: string(t.Type), Name: t.Name, Index: append([]uint64{}, index...),
		Value: strconv.FormatUint(v, 10), Series: &series,
	})
}

func (r *recorder) String(t *Token, index []uint64, text []byte) {
	r.events = append(r.events, event{
		Event: "value", Token: t.Number, Type: string(t.Type), Name: t.Name, Index: append([]uint64{}, index...),
		Value: string(text),
	})
}

func (r *recorder) Invalid(err *receivers.Error) {
	r.events = append(r.events, event{Event: "invalid", Kind: err.Reason.String(), Offset: err.Offset})
}

func (r *recorder) Reset() { r.events = append(r.events, event{Event: "reset"}) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A capture is one stream and what it holds.
type capture struct {
	name    string
	bytes   []byte
	Line    int     `json:"line"`
	Events  []event `json:"events"`
	Pending int64   `json:"pending"`
	Valid   bool    `json:"valid"`
}

func readCaptures(t testing.TB) []capture {
	t.Helper()
	b, err := os.ReadFile(captures + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Files []struct {
			File     string
			Expected struct{ Streams []capture }
		}
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		t.Fatal(err)
	}
	var cs []capture
	for _, f := range manifest.Files {
		b, err := os.ReadFile(captures + f.File)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
		if len(lines) != len(f.Expected.Streams) {
			t.Fatalf("%s: %d streams, %d in the manifest", f.File, len(lines), len(f.Expected.Streams))
		}
		for _, c := range f.Expected.Streams {
			digits, comment, _ := strings.Cut(lines[c.Line], "#")
			c.name, c.bytes = fmt.Sprintf("%s:%d%s", f.File, c.Line+1, comment), unhex(t, strings.TrimSpace(digits))
			cs = append(cs, c)
		}
	}
	return cs
}

// pieces are bytes that come in pieces of sizes that next returns.
type pieces struct {
	b    []byte
	next func() int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(into[:min(len(into), p.next())], p.b)
	p.b = p.b[n:]
	return n, nil
}

// feed decodes b, which comes as one piece if it is not long.
func (d *Decoder) feed(b []byte, h Handler) { _ = d.Decode(bytes.NewReader(b), h) } // io.EOF

// decode decodes b in pieces of n bytes.
func decode(b []byte, n int) ([]event, *Decoder) {
	var d Decoder
	r := recorder{events: []event{}}
	_ = d.Decode(&pieces{b, func() int { return n }}, &r) // io.EOF
	return r.events, &d
}

// TestCaptures: each stream comes out as the manifest says, whole and in pieces.
func TestCaptures(t *testing.T) {
	for _, c := range readCaptures(t) {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= len(c.bytes); n++ {
				got, d := decode(c.bytes, n)
				for i := range got {
					got[i].Value = string([]rune(got[i].Value)) // the manifest writes bytes that are no UTF-8 so
				}
				if diff := cmp.Diff(c.Events, got); diff != "" {
					t.Fatalf("pieces of %d (-want +got):\n%s", n, diff)
				}
				if _, invalid := d.Skipped(); invalid == c.Valid || d.Pending() != c.Pending {
					t.Errorf("pieces of %d: invalid %v, %d bytes pending; want %v and %d", n, invalid, d.Pending(), !c.Valid, c.Pending)
				}
			}
		})
	}
}
