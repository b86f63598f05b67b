package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/query/prom/promtest"
)

var errDisk = errors.New("the disk is gone")

// small returns a storage with some series over ten minutes.
func small(t *testing.T) *promtest.Memory {
	t.Helper()
	m := &promtest.Memory{}
	for i, host := range []string{"a", "b", "c"} {
		for _, name := range []string{"up", "load"} {
			ls := labels.FromStrings("__name__", name, "host", host, "odd.name", strings.Repeat("x", i+1))
			for at := range int64(61) {
				m.Add(ls, promtest.Sample{Time: (base + at*10) * 1000, Value: float64(i*100) + float64(at)})
			}
		}
	}
	return m
}

// base is the time of the first sample of small.
const base = 1_700_000_000
