package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/prom/bound"
)

// remoteRead answers a request of Prometheus' remote read. Errors are plain text.
func (h *Handler) remoteRead(w http.ResponseWriter, r *http.Request, _ string) {
	if err := h.read(w, r); err != nil {
		f := h.failed(w, err)
		http.Error(w, f.Error(), f.kind.status())
		return
	}
	h.counts.answered.Add(1)
}

// read answers a request in the first form that it accepts and rondo knows.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) error {
	t, err := h.turn(r.Context(), sockets.ClientOf(r.RemoteAddr))
	if err != nil {
		return err
	}
	defer t.pause()
	charge := func(n int64) error { return h.charge(r.Context(), n) }
	req, err := readRequest(r.Body, charge)
	if err != nil {
		return err
	}
	form, err := formOf(req)
	if err != nil {
		return err
	}
	sets, err := matchersOf(r.Context(), req, charge)
	if err != nil {
		return err
	}
	if form == prompb.ReadRequest_STREAMED_XOR_CHUNKS {
		return h.stream(w, r, req, sets, t)
	}
	return h.samplesOf(w, r, req, sets, t)
}

// readRequest reads the body of a request: a message packed by snappy. What it takes in memory is
// charged before it is unpacked, and its parts are counted before they are made.
func readRequest(body io.Reader, charge func(n int64) error) (*prompb.ReadRequest, error) {
	if body == nil {
		body = http.NoBody
	}
	packed, err := io.ReadAll(io.LimitReader(body, maxReadBytes+1))
	if err != nil {
		return nil, &failure{BadData, err}
	}
	n, err := snappy.DecodedLen(packed)
	switch {
	case err != nil:
		return nil, &failure{BadData, err}
	case n > maxReadBytes || len(packed) > maxReadBytes:
		return nil, bad("the request has %d bytes when unpacked, at most %d are taken", max(n, len(packed)), maxReadBytes)
	}
	if err := charge(int64(len(packed) + 2*n)); err != nil { // Unmarshal copies the texts
		return nil, err
	}
	message, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, &failure{BadData, err}
	}
	if err := countParts(message); err != nil {
		return nil, &failure{BadData, err}
	}
	var req prompb.ReadRequest
	if err := req.Unmarshal(message); err != nil {
		return nil, &failure{BadData, err}
	}
	return &req, nil
}

// The numbers of fields in prompb.ReadRequest, prompb.Query and prompb.ReadHints.
const (
	queriesField  = 1
	formsField    = 2
	matchersField = 3
	hintsField    = 4
	groupingField = 5
)

// countParts refuses a message with more parts than are taken. An empty part of two bytes becomes a
// structure of a hundred.
func countParts(message []byte) error {
	queries, forms := 0, 0
	err := eachField(message, func(field protowire.Number, part []byte) error {
		switch field {
		case formsField:
			forms += max(len(part), 1)
		case queriesField:
			queries++
			return countMatchers(part)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case queries > maxReadQueries:
		return fmt.Errorf("%d queries in a request, at most %d are taken", queries, maxReadQueries)
	case forms > maxReadForms:
		return fmt.Errorf("%d types of answers in a request, at most %d are taken", forms, maxReadForms)
	}
	return nil
}

// countMatchers refuses a query with more parts than are taken.
func countMatchers(query []byte) error {
	matchers, labels := 0, 0
	err := eachField(query, func(field protowire.Number, part []byte) error {
		switch field {
		case matchersField:
			matchers++
		case hintsField:
			return eachField(part, func(field protowire.Number, _ []byte) error {
				if field == groupingField {
					labels++
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case labels > maxReadGrouping:
		return fmt.Errorf("a query is grouped by %d labels, at most %d are taken", labels, maxReadGrouping)
	}
	return bound.Matchers(matchers)
}

// eachField calls fn for the fields of a message. part is the content of a field that has a length.
func eachField(message []byte, fn func(field protowire.Number, part []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		n = protowire.ConsumeFieldValue(field, kind, message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		var part []byte
		if kind == protowire.BytesType {
			part, _ = protowire.ConsumeBytes(message)
		}
		if err := fn(field, part); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// formOf returns the form of the answer.
func formOf(req *prompb.ReadRequest) (prompb.ReadRequest_ResponseType, error) {
	if len(req.AcceptedResponseTypes) == 0 {
		return prompb.ReadRequest_SAMPLES, nil
	}
	for _, t := range req.AcceptedResponseTypes {
		if t == prompb.ReadRequest_SAMPLES || t == prompb.ReadRequest_STREAMED_XOR_CHUNKS {
			return t, nil
		}
	}
	return 0, bad("server does not support any of the requested response types: %v; supported: SAMPLES, STREAMED_XOR_CHUNKS", req.AcceptedResponseTypes)
}

var matchTypes = map[prompb.LabelMatcher_Type]labels.MatchType{
	prompb.LabelMatcher_EQ:  labels.MatchEqual,
	prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
	prompb.LabelMatcher_RE:  labels.MatchRegexp,
	prompb.LabelMatcher_NRE: labels.MatchNotRegexp,
}

// matcherBytes is about what a matcher takes, and instructionBytes an instruction of a compiled
// expression.
const (
	matcherBytes     = 256
	instructionBytes = 128
)

// matchersOf returns the matchers of all queries. Regular expressions are counted and charged
// before they are compiled.
func matchersOf(ctx context.Context, req *prompb.ReadRequest, charge func(n int64) error) ([][]*labels.Matcher, error) {
	var b bound.Budget
	matchers := 0
	for _, q := range req.Queries {
		matchers += len(q.Matchers)
		for _, m := range q.Matchers {
			if m.Type != prompb.LabelMatcher_RE && m.Type != prompb.LabelMatcher_NRE {
				continue
			}
			if err := b.Regexp(m.Value); err != nil {
				return nil, &failure{BadData, err}
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	if err := charge(int64(matchers)*matcherBytes + int64(b.Program())*instructionBytes); err != nil {
		return nil, err
	}
	sets := make([][]*labels.Matcher, len(req.Queries))
	for i, q := range req.Queries {
		for _, m := range q.Matchers {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t, ok := matchTypes[m.Type]
			if !ok {
				return nil, bad("a matcher of the unknown type %d", m.Type)
			}
			matcher, err := labels.NewMatcher(t, m.Name, m.Value)
			if err != nil {
				return nil, &failure{BadData, err}
			}
			sets[i] = append(sets[i], matcher)
		}
	}
	return sets, nil
}

// hintsOf returns the hints of a query, which choose the archive.
func hintsOf(q *prompb.Query) *storage.SelectHints {
	h := q.Hints
	if h == nil {
		return &storage.SelectHints{Start: q.StartTimestampMs, End: q.EndTimestampMs}
	}
	return &storage.SelectHints{
		Start: h.StartMs, End: h.EndMs, Step: h.StepMs, Func: h.Func, Grouping: h.Grouping, By: h.By, Range: h.RangeMs,
	}
}

// samplesOf answers with all samples in one message, packed by snappy.
func (h *Handler) samplesOf(w http.ResponseWriter, r *http.Request, req *prompb.ReadRequest, sets [][]*labels.Matcher, t *turn) error {
	var resp prompb.ReadResponse
	left := h.readRows
	for i, q := range req.Queries {
		got, err := h.result(r.Context(), q, sets[i], &left)
		if err != nil {
			return err
		}
		resp.Results = append(resp.Results, got)
	}
	// The message is in memory three times: as samples, as it is written and as it is packed.
	if err := h.charge(r.Context(), 2*int64(resp.Size())); err != nil {
		return err
	}
	message, err := resp.Marshal()
	if err != nil {
		return &failure{Internal, err}
	}
	packed := snappy.Encode(nil, message)
	t.pause()
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(packed) // the client may be gone
	return nil
}

// result returns the samples of a query. left is how many the request may still have.
func (h *Handler) result(ctx context.Context, q *prompb.Query, ms []*labels.Matcher, left *int) (*prompb.QueryResult, error) {
	querier, err := h.Storage.Querier(q.StartTimestampMs, q.EndTimestampMs)
	if err != nil {
		return nil, err
	}
	defer func() { _ = querier.Close() }() // it has been read
	set := querier.Select(ctx, true, hintsOf(q), ms...)
	var res prompb.QueryResult
	var it chunkenc.Iterator
	for set.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := set.At()
		it = s.Iterator(it)
		ts := &prompb.TimeSeries{Labels: prompb.FromLabels(s.Labels(), nil)}
		for it.Next() == chunkenc.ValFloat {
			if *left--; *left < 0 {
				return nil, bad("exceeded sample limit (%d)", h.readRows)
			}
			at, v := it.At()
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: at, Value: v})
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if len(ts.Samples) == 0 {
			continue
		}
		if err := h.charge(ctx, labelBytes(s.Labels())+int64(len(ts.Samples))*pointBytes); err != nil {
			return nil, err
		}
		ts.Samples = slices.Clip(ts.Samples)
		res.Timeseries = append(res.Timeseries, ts)
	}
	if err := set.Err(); err != nil {
		return nil, fmt.Errorf("select: %w", err)
	}
	return &res, nil
}
