package api_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/prom/promtest"
)

// remoteRead sends a request of remote read to h.
func remoteRead(t *testing.T, h *api.Handler, req *prompb.ReadRequest) *httptest.ResponseRecorder {
	t.Helper()
	b, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return readRaw(h, snappy.Encode(nil, b))
}

func readRaw(h *api.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", api.Prefix+"read", bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func matching(kind prompb.LabelMatcher_Type, name, value string) *prompb.Query {
	return &prompb.Query{
		StartTimestampMs: base * 1000, EndTimestampMs: (base + 600) * 1000,
		Matchers: []*prompb.LabelMatcher{{Type: kind, Name: name, Value: value}},
	}
}

// TestRemoteReadSamples: a request without a list of forms is answered with samples, one result a
// query, both ends included.
func TestRemoteReadSamples(t *testing.T) {
	h := api.New(api.Config{Storage: small(t)})
	w := remoteRead(t, h, &prompb.ReadRequest{Queries: []*prompb.Query{
		matching(prompb.LabelMatcher_EQ, "__name__", "up"), matching(prompb.LabelMatcher_EQ, "__name__", "nothing"),
		matching(prompb.LabelMatcher_RE, "host", "a|b"),
	}})
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-protobuf" || w.Header().Get("Content-Encoding") != "snappy" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	b, err := snappy.Decode(nil, w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var resp prompb.ReadResponse
	if err := resp.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
	var series []int
	for _, r := range resp.Results {
		series = append(series, len(r.Timeseries))
	}
	if want := []int{3, 0, 4}; !slices.Equal(series, want) {
		t.Errorf("%v series, want %v", series, want)
	}
	if s := resp.Results[0].Timeseries[2].Samples; len(s) != 61 || s[0].Timestamp != base*1000 || s[60].Value != 260 {
		t.Errorf("%d samples: %v", len(s), s)
	}
}

// TestRemoteReadChunks: frames have a length, a checksum and one series each, in the order of their
// labels; several frames if the series is long.
func TestRemoteReadChunks(t *testing.T) {
	m := small(t)
	long := labels.FromStrings("__name__", "up", "host", "long")
	for i := range int64(200_000) {
		m.Add(long, promtest.Sample{Time: base*1000 + i*3, Value: float64(i*i%7919) + 1/float64(i+1)})
	}
	h := api.New(api.Config{Storage: m})
	w := remoteRead(t, h, &prompb.ReadRequest{
		Queries:               []*prompb.Query{matching(prompb.LabelMatcher_EQ, "__name__", "nothing"), matching(prompb.LabelMatcher_EQ, "__name__", "up")},
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{7, prompb.ReadRequest_STREAMED_XOR_CHUNKS, prompb.ReadRequest_SAMPLES},
	})
	if got := w.Header().Get("Content-Type"); got != "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse" {
		t.Fatalf("%d %q %.100s", w.Code, got, w.Body)
	}
	samples := make(map[string]int)
	var order []string
	for r := bufio.NewReader(w.Body); ; {
		n, err := binary.ReadUvarint(r)
		if err == io.EOF {
			break
		}
		var sum uint32
		frame := make([]byte, n)
		if err := binary.Read(r, binary.BigEndian, &sum); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, frame); err != nil {
			t.Fatal(err)
		}
		if crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli)) != sum || n > 2<<20 {
			t.Fatalf("a frame of %d bytes with the checksum %x", n, sum)
		}
		var resp prompb.ChunkedReadResponse
		if err := resp.Unmarshal(frame); err != nil || resp.QueryIndex != 1 {
			t.Fatalf("query %d, %v", resp.QueryIndex, err)
		}
		for _, s := range resp.ChunkedSeries {
			name := s.Labels[1].Value
			order = append(order, name)
			for _, c := range s.Chunks {
				chunk, err := chunkenc.FromData(chunkenc.EncXOR, c.Data)
				if err != nil {
					t.Fatal(err)
				}
				samples[name] += chunk.NumSamples()
			}
		}
	}
	if !slices.IsSorted(order) || len(order) < 5 || samples["a"] != 61 || samples["long"] != 200_000 {
		t.Errorf("frames of %v, with %v samples", order, samples)
	}
}

// TestRemoteReadRefuses: what is wrong with a request is said with a status of 4xx, and nothing is
// unpacked that says it is large.
func TestRemoteReadRefuses(t *testing.T) {
	h := api.New(api.Limited(api.Config{Storage: small(t)}, 100, 1, 0))
	q := matching(prompb.LabelMatcher_EQ, "__name__", "up")
	for _, c := range []struct {
		name, says string
		req        *prompb.ReadRequest
	}{
		{"bad expression", "missing closing )", &prompb.ReadRequest{Queries: []*prompb.Query{matching(prompb.LabelMatcher_RE, "host", "(")}}},
		{"unknown matcher", "unknown type 9", &prompb.ReadRequest{Queries: []*prompb.Query{matching(9, "host", "x")}}},
		{"unknown forms", "does not support any of the requested response types", &prompb.ReadRequest{Queries: []*prompb.Query{q}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{5}}},
		{"too many samples", "exceeded sample limit (100)", &prompb.ReadRequest{Queries: []*prompb.Query{q}}},
		{"too many samples in all", "exceeded sample limit (100)", &prompb.ReadRequest{Queries: []*prompb.Query{matching(prompb.LabelMatcher_EQ, "odd.name", "x")}}},
		{"too many queries", "2000 queries in a request", &prompb.ReadRequest{Queries: slices.Repeat([]*prompb.Query{q}, 2000)}},
	} {
		if w := remoteRead(t, h, c.req); w.Code != 400 || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %q", c.name, w.Code, w.Body, c.says)
		}
	}
	for name, body := range map[string][]byte{
		"empty":          {},
		"not snappy":     []byte("hello, world"),
		"says 4 GiB":     binary.AppendUvarint(nil, 1<<32-1),
		"says 100 MiB":   binary.AppendUvarint(nil, 100<<20),
		"no message":     snappy.Encode(nil, []byte("\x0a\xff")),
		"rubbish behind": append(snappy.Encode(nil, nil), 1, 2, 3),
	} {
		if w := readRaw(h, body); w.Code != 400 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	m := small(t)
	m.Fail = errDisk
	h = api.New(api.Config{Storage: m})
	for _, form := range []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS} {
		w := remoteRead(t, h, &prompb.ReadRequest{Queries: []*prompb.Query{q}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{form}})
		if w.Code < 400 || !strings.Contains(w.Body.String(), errDisk.Error()) {
			t.Errorf("%v from a broken disk: %d %s", form, w.Code, w.Body)
		}
	}
}
