package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

const captures = "../../../../../testdata/captures"

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
	{
		name: "gmetric", path: "ganglia/good/**",
		seeds: gmetricSeeds, attacks: []func(*attack, context.Context) error{(*attack).datagrams},
		fresh: gmetricFresh, flood: "ganglia/127.0.0.2/",
		good:    newGmetricSender,
		reasons: []receivers.Reason{receivers.Truncated, receivers.Malformed, receivers.Unsupported, receivers.Limit},
	},
	{
		name: "graphite", path: "graphite/good/**",
		seeds: graphiteSeeds, attacks: append(slices.Clip(streamAttacks), (*attack).datagrams), hoard: graphiteHoard,
		fresh: graphiteFresh, good: newGraphiteSender,
		reasons: []receivers.Reason{receivers.Truncated, receivers.Malformed, receivers.Limit, receivers.State},
	},
	{
		name: "graphite-pickle", path: "graphite/goodpickle/**",
		seeds: pickleSeeds, attacks: streamAttacks, hoard: pickleHoard,
		fresh: pickleFresh, good: newPickleSender,
		reasons: []receivers.Reason{receivers.Truncated, receivers.Malformed, receivers.Unsupported, receivers.Limit},
	},
	{
		name: "influx", path: "influx/good/**",
		seeds: influxSeeds, attacks: []func(*attack, context.Context) error{(*attack).datagrams},
		fresh: influxFresh, good: newInfluxSender,
		reasons: []receivers.Reason{receivers.Malformed, receivers.State},
	},
	{
		name: "mono", path: "mono/127.0.0.1/**",
		flags: monoFlags(),
		seeds: monoSeeds, attacks: append(slices.Clip(streamAttacks), monoEcho), hoard: monoHoard,
		fresh: monoFresh, flood: "mono/127.0.0.3/",
		good:    newMonoSender,
		reasons: []receivers.Reason{receivers.Truncated, receivers.Malformed, receivers.Limit, receivers.State},
	},
	{
		name: "smon", path: "smon/127.0.0.1/**",
		seeds: smonSeeds, attacks: streamAttacks, hoard: smonHoard,
		fresh: smonFresh, flood: "smon/127.0.0.3/",
		good:    newSmonSender,
		reasons: []receivers.Reason{receivers.Malformed, receivers.Limit, receivers.State},
	},
	{
		name: "statsd", path: "statsd/gauges/good/**",
		flags: []string{"--statsd-step", "1s"},
		seeds: statsdSeeds, attacks: append(slices.Clip(streamAttacks), (*attack).datagrams), hoard: statsdHoard,
		fresh: statsdFresh, good: newStatsdSender,
		reasons: []receivers.Reason{receivers.Truncated, receivers.Malformed, receivers.Unsupported, receivers.Limit, receivers.State},
	},
	{
		name: "rrdd", path: "rrdd/good/**",
		flags: []string{"--rrdd-interval", "1s"},
		seeds: rrddSeeds, attacks: []func(*attack, context.Context) error{(*attack).folder},
		fresh:   rrddFresh,
		good:    newRRDDSender,
		reasons: []receivers.Reason{receivers.Malformed, receivers.Checksum},
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

// collectdSeeds are captures. Some are damaged before they are signed or encrypted, because the
// content is read only if the signature or the encryption is right.
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
		Names: collectd.Names{Host: []byte("flood"), Plugin: []byte("test"), Type: []byte("gauge"), TypeInstance: fmt.Append(nil, i)},
		Time:  collectd.StampOf(rra.TimeOf(time.Now())), Interval: 10 << 30, Kinds: []byte{collectd.KindGauge}, Raw: make([]byte, 8),
	})
	return e.Bytes()
}

func gmetricSeeds(t *testing.T) [][]byte {
	t.Helper()
	return receivertest.Hex(t, filepath.Join(captures, "gmetric", "*.hex"))
}

// gmetricFresh is a metric of the sender's own address, whose message is whole in itself; or
// metadata as long as it may be.
func gmetricFresh(i int) []byte {
	if i%2 == 0 {
		m := gmetric.Message{Word: gmetric.WordMetadata, Host: []byte("flood"), Name: fmt.Append(nil, "fresh-", i), Type: []byte("double")}
		long := bytes.Repeat([]byte{'x'}, 1400)
		m.Name2, m.Units = long, long
		for key := range 8 {
			m.Extra = append(m.Extra, gmetric.Pair{Key: fmt.Append(nil, "key", key), Value: long})
		}
		return gmetricMessage(&m)
	}
	return gmetricMessage(&gmetric.Message{
		Word: gmetric.WordGmetric, Name: fmt.Append(nil, "fresh-", i), Type: []byte("double"), Slope: gmetric.Both, TMax: 60, Text: []byte("1"),
	})
}

func gmetricMessage(m *gmetric.Message) []byte {
	b, err := m.AppendBinary(nil)
	if err != nil {
		panic(err) // a test that is wrong
	}
	return b
}

// A gmetricSender is gmetric on the host good: each value has its metadata before it.
type gmetricSender struct{ c net.Conn }

func newGmetricSender(t *testing.T, addr string) goodSender {
	return &gmetricSender{dialGood(t, "udp", addr)}
}

func (s *gmetricSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint("ganglia/good/m", i)
	}
	return paths
}

func (s *gmetricSender) send(n int) (messages int, err error) {
	for i := range goodSeries {
		name := fmt.Append(nil, "m", i)
		for _, m := range []gmetric.Message{
			{Word: gmetric.WordMetadata, Host: []byte("good"), Name: name, Name2: name, Type: []byte("double"), Slope: gmetric.Both, TMax: 60},
			{Word: gmetric.WordString, Host: []byte("good"), Name: name, Format: []byte("%s"), Text: fmt.Append(nil, n)},
		} {
			if _, err := s.c.Write(gmetricMessage(&m)); err != nil {
				return messages, err
			}
			messages++
		}
	}
	return messages, nil
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
			Names: collectd.Names{Host: []byte("good"), Plugin: []byte("test"), Type: []byte("gauge"), TypeInstance: fmt.Append(nil, i)}, Time: stamp,
			Interval: 10 << 30, Kinds: []byte{collectd.KindGauge},
			Raw: binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n))),
		})
		if _, err := s.c.Write(e.Bytes()); err != nil {
			return i, err
		}
	}
	return goodSeries, nil
}
