package hostile

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func graphiteSeeds(*testing.T) [][]byte {
	now := time.Now().Unix()
	return [][]byte{
		fmt.Appendf(nil, "hostile.a.b 1 %d\nhostile.a.c 1.5e3 %d.5\n", now, now),
		[]byte("hostile;x=1;y=a/b 1 N\nhostile -0.25 -1\nhostile nan N\nhostile.x 1e999 N\n"),
		bytes.Repeat([]byte("hostile.repeated 1 N\n"), 50),
		append(bytes.Repeat([]byte("hostile."), 250), " 1 N\n"...),
	}
}

// graphiteFresh is a line with a name that no line had before.
func graphiteFresh(i int) []byte { return fmt.Appendf(nil, "hostile.fresh.n%d 1 N\n", i) }

// graphiteHoard is many names as long as they may be, and a line that does not end.
func graphiteHoard() []byte {
	var b []byte
	for i := range 500 {
		b = fmt.Appendf(b, "hostile.hoard%d.%s 1 N\n", i, strings.Repeat("x", 2000))
	}
	return append(b, bytes.Repeat([]byte("x"), 100_000)...)
}

// pickleSeeds are the pickles of Pythons, each with its length.
func pickleSeeds(t *testing.T) [][]byte {
	t.Helper()
	var out [][]byte
	for line := range strings.Lines(string(readFiles(t, filepath.Join(captures, "graphite", "pickles.jsonl"))[0])) {
		var c struct{ Pickle string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(c.Pickle)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, framedPickle(b))
	}
	return append(out, framedPickle([]byte("cos\nsystem\n(S'true'\ntR.")), framedPickle(bytes.Repeat([]byte("]"), 100_000)))
}

func framedPickle(pickle []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(pickle))), pickle...)
}

// pickled is the pickle of one point of each name, at this second.
func pickled(value float64, names ...string) []byte {
	b := []byte("\x80\x02](")
	for _, name := range names {
		b = append(b, 'X')
		b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
		b = append(append(b, name...), 'J')
		b = binary.LittleEndian.AppendUint32(b, uint32(time.Now().Unix()))
		b = append(b, 'G')
		b = append(binary.BigEndian.AppendUint64(b, math.Float64bits(value)), "\x86\x86"...)
	}
	return framedPickle(append(b, "e."...))
}

func pickleFresh(i int) []byte { return pickled(1, fmt.Sprint("hostile.pickled.n", i)) }

// pickleHoard is all but the end of a pickle as long as it may be.
func pickleHoard() []byte {
	b := framedPickle(bytes.Repeat([]byte("]"), 1<<20))
	return b[:len(b)-1]
}

func statsdSeeds(*testing.T) [][]byte {
	return [][]byte{
		[]byte("hostile.a:1|c\nhostile.a:2|c|@0.1\nhostile.g:-3|g\nhostile.g:+3|g\n"),
		[]byte("hostile.t:320|ms|@0.1|#x:1,y\nhostile.t:1:2:3|h\nhostile.s:user 7|s\nhostile.m:1|c:2|g:3|ms\n"),
		[]byte("hostile[x=1].b:1|d\nhostile,x=1:1|c\n_e{1,1}:a|b\nhostile:1|q\nhostile:nan|g\nhostile:1|c|T1\n"),
		bytes.Repeat([]byte("hostile.repeated:1|ms\n"), 50),
		append(bytes.Repeat([]byte("hostile."), 250), ":1|c\n"...),
	}
}

// statsdFresh is a reading with a name that no reading had before.
func statsdFresh(i int) []byte { return fmt.Appendf(nil, "hostile.fresh.n%d:1|ms\n", i) }

// statsdHoard is many names as long as they may be, many values of a timer and many members of a
// set.
func statsdHoard() []byte {
	var b []byte
	for i := range 300 {
		b = fmt.Appendf(b, "hostile.hoard%d.%s:1|c\n", i, strings.Repeat("x", 2000))
	}
	for i := range 20_000 {
		b = fmt.Appendf(b, "hostile.t:%d|ms\nhostile.s:%d|s\n", i, i)
	}
	return b
}

func influxSeeds(*testing.T) [][]byte {
	return [][]byte{
		[]byte("hostile,host=a,cpu=0 idle=1,busy=2i,up=true,text=\"x\" 1700000000000000000\n"),
		[]byte("hos\\ tile,x\\,y=a\\=b v=1e999\nhostile v=nan\nhostile,x= v=1\nhostile v=\"un\nhostile v=1u\n"),
		bytes.Repeat([]byte("hostile repeated=1\n"), 50),
	}
}

// influxFresh is a line with a name that no line had before.
func influxFresh(i int) []byte { return fmt.Appendf(nil, "hostile,n=%d v=1\n", i) }

// A textSender sends the values of its series, good.0 and so on, in one message.
type textSender struct {
	c       net.Conn
	prefix  string // of the paths
	message func(n int) []byte
}

func (s *textSender) paths() []string {
	paths := make([]string, goodSeries)
	for i := range paths {
		paths[i] = fmt.Sprint(s.prefix, i)
	}
	return paths
}

func (s *textSender) send(n int) (int, error) {
	_, err := s.c.Write(s.message(n))
	return 1, err
}

func newGraphiteSender(t *testing.T, addr string) goodSender {
	return &textSender{dialGood(t, "tcp", addr), "graphite/good/", func(n int) (b []byte) {
		for i := range goodSeries {
			b = fmt.Appendf(b, "good.%d %d %d\n", i, n, time.Now().Unix())
		}
		return b
	}}
}

func newPickleSender(t *testing.T, addr string) goodSender {
	return &textSender{dialGood(t, "tcp", addr), "graphite/goodpickle/", func(n int) []byte {
		var names []string
		for i := range goodSeries {
			names = append(names, fmt.Sprint("goodpickle.", i))
		}
		return pickled(float64(n), names...)
	}}
}

func newStatsdSender(t *testing.T, addr string) goodSender {
	return &textSender{dialGood(t, "tcp", addr), "statsd/gauges/good/", func(n int) (b []byte) {
		for i := range goodSeries {
			b = fmt.Appendf(b, "good.%d:%d|g\n", i, n)
		}
		return b
	}}
}

func newInfluxSender(t *testing.T, addr string) goodSender {
	return &textSender{dialGood(t, "udp", addr), "influx/good/f", func(n int) []byte {
		b := []byte("good ")
		for i := range goodSeries {
			b = fmt.Appendf(b, "f%d=%d,", i, n)
		}
		return fmt.Appendf(b[:len(b)-1], " %d\n", time.Now().Unix()*1e9)
	}}
}
