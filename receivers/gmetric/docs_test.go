package gmetric

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// TestPage decodes the examples of the page, and encodes them again.
func TestPage(t *testing.T) {
	blocks := receivertest.Examples(t, "../../docs/wire/gmetric.md")
	spoofed := Message{Host: []byte("10.0.0.7:web7"), Spoof: true, IP: []byte("10.0.0.7"), HostName: []byte("web7"), Name: []byte("hits")}
	metadata, text, typed := spoofed, spoofed, spoofed
	metadata.Word, metadata.Type, metadata.Name2, metadata.Units = WordMetadata, []byte("uint32"), []byte("hits"), []byte("h/s")
	metadata.Slope, metadata.TMax, metadata.DMax = Positive, 20, 600
	metadata.Extra = []Pair{{[]byte("GROUP"), []byte("http")}}
	text.Word, text.Format, text.Text = WordString, []byte("%s"), []byte("4294967295")
	typed.Word, typed.Format, typed.Number = WordUint, []byte("%u"), rra.Uint(4294967295)
	want := map[string]Message{
		"old": {
			Word: WordGmetric, Type: []byte("int16"), Name: []byte("temp1"), Text: []byte("-12"), Units: []byte("C"), Slope: Both, TMax: 60,
		},
		"core": {
			Word: 15, Name: []byte("load_one"), Type: []byte("float"), Slope: Both, TMax: 70, Number: rra.Float(0.25),
		},
		"metadata": metadata, "text": text, "typed": typed,
	}
	if len(blocks) != len(want) {
		t.Errorf("%d examples, want %d", len(blocks), len(want))
	}
	for name, w := range want {
		var got Message
		if err := got.Decode(blocks[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(w, got, cmpopts.IgnoreUnexported(Message{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again, err := w.AppendBinary(nil); err != nil || string(again) != string(blocks[name]) {
			t.Errorf("%s: encoded %x, %v, want %x", name, again, err, blocks[name])
		}
	}
}

// TestPageNumbers: the page lists the metrics that go by a number, in their order.
func TestPageNumbers(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire/gmetric.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Word | Type | tmax | Metrics, in order |")
	table, _, _ = strings.Cut(table, "\n\n")
	at := 0
	for k := WordCore; k <= WordCoreLast; k++ {
		n := strings.Index(table[at:], coreMetrics[k].name)
		if n < 0 {
			t.Fatalf("metric %d, %s, is not there, or not in order", k, coreMetrics[k].name)
		}
		at += n + len(coreMetrics[k].name)
	}
}
