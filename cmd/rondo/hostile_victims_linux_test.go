package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

const captures = root + "/testdata/captures"

// victims has a line for every protocol.
var victims = []victim{
	{
		name: "collectd", path: "collectd/good/**",
		flags: []string{"--collectd-auth-file", captures + "/collectd/auth"},
		seeds: collectdSeeds, attacks: []func(*attack, context.Context) error{(*attack).datagrams},
		fresh: collectdFresh, flood: "collectd/flood/",
		good: newCollectdSender,
		reasons: []receivers.Reason{
			receivers.Truncated, receivers.Malformed, receivers.Auth, receivers.Limit, receivers.State, receivers.Late,
		},
	},
}

// dialGood connects from an address that no attacker has.
func dialGood(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	c, err := dialFrom(t.Context(), network, 1, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // what was sent is looked for
	return c
}

// collectdSeeds are captures, of which some are damaged before they are signed or encrypted: what is inside
// is read only if that is right.
func collectdSeeds(t *testing.T) [][]byte {
	t.Helper()
	seeds := receivertest.Hex(t, filepath.Join(captures, "collectd", "*.hex"))
	m := newMutator(1, seeds, 1400)
	for i := range 500 {
		b := m.next()
		if len(b) == 0 {
			continue
		}
		var sealed []byte
		var err error
		if i%2 == 0 {
			sealed, err = collectd.AppendSigned(nil, "alice", "s1gn-Pa55", b)
		} else {
			sealed, err = collectd.AppendEncrypted(nil, "alice", "s1gn-Pa55", [16]byte{byte(i), byte(i >> 8)}, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, sealed)
	}
	return seeds
}

func collectdFresh(i int) []byte {
	var e collectd.Encoder
	e.Add(&collectd.ValueList{
		Host: []byte("flood"), Plugin: []byte("test"), Type: []byte("gauge"), TypeInstance: fmt.Append(nil, i),
		Time: collectd.StampOf(rra.TimeOf(time.Now())), Interval: 10 << 30, Kinds: []byte{collectd.KindGauge}, Raw: make([]byte, 8),
	})
	return e.Bytes()
}

// A collectdSender is collectd on the host good.
type collectdSender struct{ c net.Conn }

func newCollectdSender(t *testing.T, addr string) goodSender {
	return &collectdSender{dialGood(t, "udp", addr)}
}

func (s *collectdSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("collectd/good/test/gauge-", i)
	}
	return paths
}

func (s *collectdSender) send(n int) (int, error) {
	stamp := collectd.StampOf(rra.TimeOf(time.Now()))
	for i := range goodSeries {
		var e collectd.Encoder
		e.Add(&collectd.ValueList{
			Host: []byte("good"), Plugin: []byte("test"), Type: []byte("gauge"), TypeInstance: fmt.Append(nil, i), Time: stamp,
			Interval: 10 << 30, Kinds: []byte{collectd.KindGauge},
			Raw: binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n))),
		})
		if _, err := s.c.Write(e.Bytes()); err != nil {
			return i, err
		}
	}
	return goodSeries, nil
}
