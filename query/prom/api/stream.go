package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// The content type of an answer in chunks.
const chunkedType = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A chunkStream answers a request with frames: a length as a uvarint, a checksum, and a message
// with chunks of one series. Frames are collected before they are sent.
type chunkStream struct {
	ctx     context.Context
	w       http.ResponseWriter
	turn    *turn
	buf     []byte
	started bool
}

// stream answers with the series of each query in chunks. After the first frame only closing the
// connection can report an error.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, req *prompb.ReadRequest, sets [][]*labels.Matcher, t *turn) error {
	w.Header().Set("Content-Type", chunkedType)
	s := &chunkStream{ctx: r.Context(), w: w, turn: t}
	for i, q := range req.Queries {
		if err := h.streamQuery(s, q, int64(i), sets[i]); err != nil {
			if s.started {
				panic(http.ErrAbortHandler)
			}
			return err
		}
	}
	t.pause() // the end of the answer must not wait for a place
	if s.send() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// streamQuery writes the series of one query, sorted by labels.
func (h *Handler) streamQuery(s *chunkStream, q *prompb.Query, index int64, ms []*labels.Matcher) error {
	querier, err := h.Storage.Querier(q.StartTimestampMs, q.EndTimestampMs)
	if err != nil {
		return err
	}
	defer func() { _ = querier.Close() }() // it has been read
	set := storage.NewSeriesSetToChunkSet(querier.Select(s.ctx, true, hintsOf(q), ms...))
	var it chunks.Iterator
	for set.Next() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		series := set.At()
		it = series.Iterator(it)
		if err := s.series(it, index, prompb.FromLabels(series.Labels(), nil)); err != nil {
			return err
		}
	}
	if err := set.Err(); err != nil {
		return fmt.Errorf("select: %w", err)
	}
	return nil
}

// series writes the chunks of one series, in frames of frameBytes or little more.
func (s *chunkStream) series(it chunks.Iterator, index int64, ls []prompb.Label) error {
	var frame []prompb.Chunk
	size := 0
	for it.Next() {
		c := it.At()
		frame = append(frame, prompb.Chunk{
			MinTimeMs: c.MinTime, MaxTimeMs: c.MaxTime,
			Type: prompb.Chunk_Encoding(c.Chunk.Encoding()), Data: c.Chunk.Bytes(),
		})
		if size += len(c.Chunk.Bytes()); size < frameBytes {
			continue
		}
		if err := s.frame(index, ls, frame); err != nil {
			return err
		}
		frame, size = frame[:0], 0
	}
	if err := it.Err(); err != nil || len(frame) == 0 {
		return err
	}
	return s.frame(index, ls, frame)
}

func (s *chunkStream) frame(index int64, ls []prompb.Label, cs []prompb.Chunk) error {
	m := prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Labels: ls, Chunks: cs}}, QueryIndex: index}
	message, err := m.Marshal()
	if err != nil {
		return err
	}
	s.buf = binary.AppendUvarint(s.buf, uint64(len(message)))
	s.buf = binary.BigEndian.AppendUint32(s.buf, crc32.Checksum(message, castagnoli))
	s.buf = append(s.buf, message...)
	if len(s.buf) < flushBytes {
		return nil
	}
	return s.flush()
}

// flush sends the frames that are collected. Others have the place meanwhile.
func (s *chunkStream) flush() error {
	s.turn.pause()
	if err := s.send(); err != nil {
		return err
	}
	return s.turn.resume(s.ctx)
}

func (s *chunkStream) send() error {
	if len(s.buf) == 0 {
		return nil
	}
	s.started = true
	if _, err := s.w.Write(s.buf); err != nil {
		return err
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	s.buf = s.buf[:0]
	return nil
}
