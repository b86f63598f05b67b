package remotewrite

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// message returns a field that holds parts.
func message(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(parts, nil))
}

// many returns n fields of messages that are empty: two bytes each.
func many(number protowire.Number, n int) []byte { return bytes.Repeat(message(number), n) }

// each returns n messages.
func each(n int, of func(i int) []byte) []byte {
	var all []byte
	for i := range n {
		all = append(all, of(i)...)
	}
	return all
}

// refs returns a field of references.
func refs(list ...uint64) []byte {
	var b []byte
	for _, x := range list {
		b = protowire.AppendVarint(b, x)
	}
	return message(fieldRefs, b)
}

// worst are requests that take the most memory and time of a byte: of 2.0 if their names say so.
func worst() map[string]func() []byte {
	const all = maxUnpacked/2 - 100 // empty messages in the longest body
	name := message(fieldLabels1, message(fieldName, []byte(NameLabel)), message(fieldText, []byte("x")))
	one := message(fieldSamples, protowire.AppendVarint([]byte{fieldTime << 3}, 1_700_000_000_000))
	letters := func(n int) []byte { return bytes.Repeat([]byte{'a'}, n) }
	symbols := bytes.Join([][]byte{message(fieldSymbols), message(fieldSymbols, []byte(NameLabel)), message(fieldSymbols, []byte("x"))}, nil)
	return map[string]func() []byte{
		"series":      func() []byte { return many(fieldSeries1, all) },
		"metadata":    func() []byte { return many(fieldMetadata1, all) },
		"labels":      func() []byte { return message(fieldSeries1, name, many(fieldLabels1, all)) },
		"late labels": func() []byte { return message(fieldSeries1, one, name, one, many(fieldLabels1, all)) },
		"samples":     func() []byte { return message(fieldSeries1, name, many(fieldSamples, all)) },
		"exemplars":   func() []byte { return message(fieldSeries1, name, many(fieldExemplars1, all)) },
		"histograms":  func() []byte { return message(fieldSeries1, name, many(fieldNative1, all)) },
		"labels apart": func() []byte {
			apart := message(fieldSeries1, name, one, message(fieldLabels1, message(fieldName, []byte("a"))), one)
			return bytes.Repeat(apart, maxUnpacked/len(apart))
		},
		"new series": func() []byte {
			return each(100_000, func(i int) []byte {
				return message(fieldSeries1, message(fieldLabels1, message(fieldName, []byte(NameLabel)), message(fieldText, fmt.Append(nil, i))), one)
			})
		},
		"wrong series": func() []byte {
			return each(maxSeries-1, func(i int) []byte {
				return message(fieldSeries1, message(fieldLabels1, message(fieldName, fmt.Append(nil, i))), one)
			})
		},
		"2.0 series":  func() []byte { return many(fieldSeries2, all) },
		"2.0 symbols": func() []byte { return many(fieldSymbols, all) },
		"2.0 references": func() []byte {
			return append(symbols, message(fieldSeries2, message(fieldRefs, bytes.Repeat([]byte{1, 2}, all)))...)
		},
		"2.0 references apart": func() []byte {
			return append(symbols, message(fieldSeries2, bytes.Repeat([]byte{fieldRefs << 3, 1}, all))...)
		},
		"2.0 long symbols": func() []byte { // a symbol of 30,000 bytes is written out twice by each of some million series
			return append(message(fieldSymbols, letters(30_000)), bytes.Repeat(message(fieldSeries2, refs(0, 0)), all/8)...)
		},
		"2.0 symbols too long": func() []byte {
			return append(message(fieldSymbols, letters(60<<10)), bytes.Repeat(message(fieldSeries2, message(fieldRefs, make([]byte, 100))), maxSeries-1)...)
		},
		"2.0 long help": func() []byte {
			body := append(symbols, message(fieldSymbols, letters(16<<20))...)
			const n = 50_000
			body = append(body, each(n, func(i int) []byte { return message(fieldSymbols, fmt.Append(nil, i)) })...)
			return append(body, each(n, func(i int) []byte {
				return message(fieldSeries2, refs(1, uint64(4+i)), one, message(fieldMetadata2, []byte{fieldHelpRef << 3, 3, fieldUnitRef << 3, 3}))
			})...)
		},
	}
}

// TestWorstRequests: requests of the size that is allowed, 1.6 MB packed, took gigabytes, and minutes
// of a processor: messages of two bytes became series of ninety, each reference to a symbol copied
// it, and the cost of the labels of a series grew by their square. What is made of a request is
// limited and charged before it is made.
func TestWorstRequests(t *testing.T) {
	for name, body := range worst() {
		t.Run(name, func(t *testing.T) {
			s, err := newServer(receivers.Config{MaxFuture: -1}, new(receivertest.Nowhere))
			if err != nil {
				t.Fatal(err)
			}
			whole := body()
			q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/write", http.NoBody)
			if strings.HasPrefix(name, "2.0") {
				q.Header.Set("Content-Type", "application/x-protobuf;proto="+message2)
			}
			q.Body = receivers.NewWholeBody(snappy.Encode(nil, whole))
			most := watchHeap(t)
			a := httptest.NewRecorder()
			s.ServeHTTP(a, q)
			n := most()
			text, _, _ := strings.Cut(a.Body.String(), "\n")
			t.Logf("%d bytes: %d MB, %d %.120s", len(whole), n>>20, a.Code, text)
			if n > 256<<20 {
				t.Errorf("a request of %d bytes takes %d MB", len(whole), n>>20)
			}
			if a.Code != http.StatusNoContent && a.Code != http.StatusBadRequest {
				t.Errorf("the answer is %d %s", a.Code, text)
			}
			if _, ok := s.Unpack(256 << 20); !ok {
				t.Error("what was charged is not given back")
			}
		})
	}
}

// watchHeap watches the heap. most ends that, and returns by how much it has grown at most.
func watchHeap(t *testing.T) (most func() uint64) {
	t.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	end, ended := make(chan struct{}), make(chan struct{})
	look := func() {
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				look()
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return func() uint64 {
		close(end)
		<-ended
		return peak - min(peak, before)
	}
}
