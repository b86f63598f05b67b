package gmetric

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestTextsTakeLittle: a flood of metadata as long as it may be takes no more memory than it is
// said to.
func TestTextsTakeLittle(t *testing.T) {
	now := time.Unix(began, 0)
	s := offline(new(receivertest.Nowhere), receivers.Config{Now: func() time.Time { return now }})
	defer s.close()
	long := bytes.Repeat([]byte{'x'}, 1400)
	m := meta("host", "", "double", Both)
	m.Units, m.Type = long, long
	for _, key := range []string{"TITLE", "DESC", "CLUSTER", "GROUP", "key"} {
		m.Extra = append(m.Extra, Pair{[]byte(key), long})
	}
	heap := func() int64 {
		var st runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&st)
		return int64(st.HeapAlloc)
	}
	const metrics, most = 20_000, 128 << 20
	before := heap()
	for i := range metrics {
		m.Name = fmt.Append(nil, "metric-", i)
		m.Name2 = m.Name
		s.begin()
		s.datagram(example(t, m), loopback)
		if i%64 == 63 {
			s.resolve(t.Context())
			s.tick(t.Context())
		}
	}
	if got := heap() - before; got > most {
		t.Errorf("%d MB for %d metrics, at most %d MB are meant", got>>20, metrics, int64(most)>>20)
	}
	runtime.KeepAlive(s)
}
