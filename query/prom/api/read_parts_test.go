package api

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// field returns a field of a message.
func field(number byte, content []byte) []byte {
	n := len(content)
	return append([]byte{number<<3 | 2, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}, content...)
}

// TestPartsAreCountedBeforeTheyAreMade: a part of two bytes becomes a structure of a hundred. They
// were counted when all were in memory, if at all.
func TestPartsAreCountedBeforeTheyAreMade(t *testing.T) {
	const n = 1 << 20 // bytes of parts
	parts := func(number byte) []byte { return bytes.Repeat([]byte{number<<3 | 2, 0}, n/2) }
	for _, c := range []struct {
		name, says string
		message    []byte
	}{
		{"queries", "524288 queries in a request, at most 1000", parts(queriesField)},
		{"matchers", "524288 matchers, at most 64", field(queriesField, parts(matchersField))},
		{"labels", "grouped by 524288 labels, at most 1000", field(queriesField, field(hintsField, parts(groupingField)))},
		{"types of answers", "1048576 types of answers in a request, at most 16", field(formsField, make([]byte, n))},
		{"types of answers one by one", "524288 types of answers", bytes.Repeat([]byte{formsField << 3, 5}, n/2)},
	} {
		body := snappy.Encode(nil, c.message)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readRequest(bytes.NewReader(body), func(int64) error { return nil })
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 4*n {
			t.Errorf("%s: a request of %d bytes allocates %d", c.name, len(c.message), made)
		}
	}
}

// TestReadIsChargedBeforeItIsMade: what a request takes is charged before it is unpacked, and its
// regular expressions before they are compiled.
func TestReadIsChargedBeforeItIsMade(t *testing.T) {
	errMemory, asked := errors.New("no memory"), int64(0)
	full := func(n int64) error { asked = n; return errMemory }
	body := snappy.Encode(nil, make([]byte, 1<<20))
	if _, err := readRequest(bytes.NewReader(body), full); !errors.Is(err, errMemory) || asked < 1<<20 {
		t.Errorf("%v, and %d bytes were charged", err, asked)
	}
	query := func(n int) *prompb.ReadRequest {
		q := &prompb.Query{}
		for i := range n {
			q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: "host", Value: fmt.Sprintf("(.*a){90}(.*b){90}(.{1,90}){10}%d", i)})
		}
		return &prompb.ReadRequest{Queries: []*prompb.Query{q}}
	}
	if _, err := matchersOf(t.Context(), query(1), full); !errors.Is(err, errMemory) || asked < 1000*instructionBytes {
		t.Errorf("%v, and %d bytes were charged", err, asked)
	}
	if _, err := matchersOf(t.Context(), query(200), func(int64) error { return nil }); err == nil || !strings.Contains(err.Error(), "instructions, at most 100000") {
		t.Error(err)
	}
}
