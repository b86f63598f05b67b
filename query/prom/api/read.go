package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// remoteRead answers a request of Prometheus' remote read. Errors are plain text.
func (h *Handler) remoteRead(w http.ResponseWriter, r *http.Request, _ string) {
	req, err := readRequest(r.Body)
	if err == nil {
		err = h.read(w, r, req)
	}
	if err == nil {
		h.counts.answered.Add(1)
		return
	}
	h.counts.failed.Add(1)
	f := asFailure(err)
	if errors.Is(err, errFull) {
		h.counts.busy.Add(1)
	}
	if f.kind == unavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	http.Error(w, f.Error(), f.kind.status())
}

// read answers req in the first form of those that it accepts and rondo knows.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, req *prompb.ReadRequest) error {
	form, err := formOf(req)
	if err != nil {
		return err
	}
	sets := make([][]*labels.Matcher, len(req.Queries))
	for i, q := range req.Queries {
		if sets[i], err = matchersOf(q); err != nil {
			return err
		}
	}
	t, err := h.queue.enter(r.Context(), h.Client(r))
	if err != nil {
		return err
	}
	defer t.leave()
	if form == prompb.ReadRequest_STREAMED_XOR_CHUNKS {
		return h.stream(w, r, req, sets, t)
	}
	return h.samplesOf(w, r, req, sets, t)
}

// readRequest reads the body of a request: a message packed by snappy. Its length when unpacked is
// looked at before it is unpacked.
func readRequest(body io.Reader) (*prompb.ReadRequest, error) {
	if body == nil {
		body = http.NoBody
	}
	packed, err := io.ReadAll(io.LimitReader(body, maxReadBytes+1))
	if err != nil {
		return nil, &failure{badData, err}
	}
	n, err := snappy.DecodedLen(packed)
	switch {
	case err != nil:
		return nil, &failure{badData, err}
	case n > maxReadBytes || len(packed) > maxReadBytes:
		return nil, bad("the request has %d bytes when unpacked, at most %d are taken", max(n, len(packed)), maxReadBytes)
	}
	message, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, &failure{badData, err}
	}
	var req prompb.ReadRequest
	if err := req.Unmarshal(message); err != nil {
		return nil, &failure{badData, err}
	}
	if len(req.Queries) > maxReadQueries {
		return nil, bad("%d queries in a request, at most %d are taken", len(req.Queries), maxReadQueries)
	}
	return &req, nil
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

func matchersOf(q *prompb.Query) ([]*labels.Matcher, error) {
	ms := make([]*labels.Matcher, 0, len(q.Matchers))
	for _, m := range q.Matchers {
		t, ok := matchTypes[m.Type]
		if !ok {
			return nil, bad("a matcher of the unknown type %d", m.Type)
		}
		matcher, err := labels.NewMatcher(t, m.Name, m.Value)
		if err != nil {
			return nil, &failure{badData, err}
		}
		ms = append(ms, matcher)
	}
	return ms, nil
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
		return &failure{internal, err}
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
