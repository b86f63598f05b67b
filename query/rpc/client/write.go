package client

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Sample is one reading of every data source of a series. NaN means unknown.
type Sample struct {
	Path   string
	Time   time.Time // the zero time means the present by the server's clock
	Values []float64
}

// A Rejection says why a sample was not stored.
type Rejection struct {
	Index int // of the sample
	Error string
}

// Written is the outcome of a Write. A sample is late if it is not after the last update of its
// series.
type Written struct {
	Accepted, Late, Refused, Created int64
	Rejections                       []Rejection // the first few of each batch
}

// The rules of Write.
const (
	batchSamples = 10_000                 // samples of one request
	batchValues  = 100_000                // values of one request
	batchBytes   = 2 << 20                // of one request, about
	attempts     = 6                      // of one request
	firstPause   = 250 * time.Millisecond // before the second attempt; it doubles
)

// Write stores samples, in batches, and returns when they are durable. If create is true, the
// server makes series that do not exist, by its policy.
//
// A batch that the server did not take because it begins, ends or cannot be reached is sent up to
// six times, for eight seconds. If an answer was lost, samples are sent that are stored already:
// the server counts these as late and keeps the first ones. After an error, Written counts the
// batches before it.
func (c *Client) Write(ctx context.Context, samples []Sample, create bool) (Written, error) {
	var sum Written
	for first := 0; first < len(samples); {
		m := &rondov1.WriteRequest{Create: create}
		next := first
		for values, bytes := 0, 0; next < len(samples); next++ {
			s := &samples[next]
			values, bytes = values+len(s.Values), bytes+len(s.Path)+32+16*len(s.Values)
			if next > first && (next-first >= batchSamples || values > batchValues || bytes > batchBytes) {
				break
			}
			m.Samples = append(m.Samples, messageOf(s))
		}
		if err := c.writeBatch(ctx, m, first, &sum); err != nil {
			return sum, err
		}
		first = next
	}
	return sum, nil
}

func messageOf(s *Sample) *rondov1.Sample {
	m := &rondov1.Sample{Path: s.Path}
	if !s.Time.IsZero() {
		m.TimeUs = s.Time.UnixMicro()
	}
	for _, v := range s.Values {
		m.Values = append(m.Values, &rondov1.Value{Value: &rondov1.Value_Float{Float: v}})
	}
	return m
}

// writeBatch sends one request, whose first sample has an index, and adds the outcome to sum.
func (c *Client) writeBatch(ctx context.Context, m *rondov1.WriteRequest, first int, sum *Written) error {
	pause := firstPause
	for try := 1; ; try++ {
		r, err := c.API.Write(ctx, m)
		if err == nil {
			sum.Accepted += r.GetAccepted()
			sum.Late += r.GetLate()
			sum.Refused += r.GetRefused()
			sum.Created += r.GetCreated()
			for _, x := range r.GetRejections() {
				sum.Rejections = append(sum.Rejections, Rejection{first + int(x.GetIndex()), x.GetError()})
			}
			return nil
		}
		if connect.CodeOf(err) != connect.CodeUnavailable || try == attempts || sleep.For(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}
