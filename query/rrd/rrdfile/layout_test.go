package rrdfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// A machine is a kind of machine whose files rondo reads. The tests run on no such machine. So they
// make its files from files of a 64-bit little-endian machine, by the rules by which C compilers
// lay structs out on the other.
type machine struct {
	name  string
	order binary.AppendByteOrder
	long  int
	align int // of a double, and of a 64-bit integer
	time  int
}

var machines = []machine{
	{"amd64", binary.LittleEndian, 8, 8, 8},
	{"s390x", binary.BigEndian, 8, 8, 8},
	{"i386", binary.LittleEndian, 4, 4, 4},
	{"i386 with times of 64 bits", binary.LittleEndian, 4, 4, 8},
	{"arm", binary.LittleEndian, 4, 8, 4},
	{"arm with times of 64 bits", binary.LittleEndian, 4, 8, 8},
	{"sparc", binary.BigEndian, 4, 8, 4},
	{"sparc with times of 64 bits", binary.BigEndian, 4, 8, 8},
	{"big-endian, doubles on 4", binary.BigEndian, 4, 4, 4},
}

// A translation writes a file of another machine.
type translation struct {
	machine
	in    []byte // the rest of the file
	out   []byte
	start int // of the struct: alignment counts from there
}

func (x *translation) begin() { x.start = len(x.out) }

func (x *translation) take(n int) []byte {
	b := x.in[:n]
	x.in = x.in[n:]
	return b
}

// pad aligns what follows, and skips what aligned it before.
func (x *translation) pad(align, skip int) {
	for (len(x.out)-x.start)%align != 0 {
		x.out = append(x.out, 0xee) // what is between is not said
	}
	x.take(skip)
}

func (x *translation) bytes(n int) { x.out = append(x.out, x.take(n)...) }

func (x *translation) integer(size int) {
	v := binary.LittleEndian.Uint64(x.take(8))
	x.pad(min(size, max(x.align, x.long)), 0)
	if size == 4 {
		x.out = x.order.AppendUint32(x.out, uint32(v))
	} else {
		x.out = x.order.AppendUint64(x.out, v)
	}
}

func (x *translation) double() {
	x.pad(x.align, 0)
	x.out = x.order.AppendUint64(x.out, binary.LittleEndian.Uint64(x.take(8)))
}

// params writes ten unions. The unions with the given indices are longs.
func (x *translation) params(longs ...int) {
	for i := range 10 {
		x.pad(max(x.align, x.long), 0)
		if slices.Contains(longs, i) {
			at := len(x.out)
			x.integer(x.long)
			for len(x.out) < at+8 {
				x.out = append(x.out, 0xee)
			}
			continue
		}
		x.double()
	}
}

func (x *translation) expression() {
	for range 20 {
		x.bytes(2)
		x.out = x.order.AppendUint16(x.out, binary.LittleEndian.Uint16(x.take(2)))
	}
}

func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// translate writes a file of a version as another machine does.
func translate(raw []byte, m machine, version byte) []byte {
	x := &translation{machine: m, in: raw}
	sources, archives := binary.LittleEndian.Uint64(raw[24:]), binary.LittleEndian.Uint64(raw[32:])
	x.bytes(7)
	x.out = append(x.out, version, 0)
	x.take(9)
	x.double()
	x.integer(m.long)
	x.integer(m.long)
	x.integer(m.long)
	x.params()
	for range sources {
		x.begin()
		compute := cString(x.in[20:40]) == "COMPUTE"
		x.bytes(40)
		if compute {
			x.expression()
			continue
		}
		x.params(0)
	}
	var cfs []string
	values := uint64(0)
	for range archives {
		x.begin()
		cf := cString(x.in[:20])
		cfs = append(cfs, cf)
		x.bytes(20)
		x.take(4)
		values += sources * binary.LittleEndian.Uint64(x.in)
		x.integer(m.long)
		x.integer(m.long)
		switch cf {
		case "SEASONAL", "DEVSEASONAL":
			x.params(3, 4)
		case "FAILURES":
			x.params(3, 4, 5)
		case "HWPREDICT", "MHWPREDICT", "DEVPREDICT":
			x.params(3)
		default:
			x.params()
		}
	}
	x.begin()
	x.integer(m.time)
	if version >= '3' {
		x.integer(m.long)
		x.pad(max(m.long, min(m.time, m.align)), 0)
	} else {
		x.take(8)
	}
	for range sources {
		x.begin()
		x.bytes(30)
		x.pad(max(m.long, m.align), 2)
		x.params(0)
	}
	for _, cf := range cfs {
		for range sources {
			x.begin()
			switch cf {
			case "HWPREDICT", "MHWPREDICT", "SEASONAL", "DEVSEASONAL":
				x.params(6, 7)
			case "FAILURES":
				x.bytes(32)
				for range 6 {
					x.double()
				}
			case "DEVPREDICT":
				x.params()
			default:
				x.params(1)
			}
		}
	}
	for range archives {
		x.begin()
		x.integer(m.long)
	}
	for range values {
		x.out = x.order.AppendUint64(x.out, binary.LittleEndian.Uint64(x.take(8)))
	}
	if len(x.in) != 0 {
		panic(fmt.Sprintf("%d bytes are left", len(x.in)))
	}
	return x.out
}

// sample makes a file with everything in it, by rondo alone.
func sample(t testing.TB, r *rand.Rand) *rrdfile.File {
	t.Helper()
	p := newProgram(r)
	d, err := rra.ParseDefinition(p.step, p.args)
	if err != nil {
		t.Fatalf("%v: %v", p, err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewState(rra.Seconds(p.start))
	rows := make([][]float64, len(d.Archives))
	for i := range rows {
		rows[i] = make([]float64, int(d.Archives[i].Rows)*len(d.Sources))
	}
	m.SmoothBy(s.W, rra.NameHash("x"))
	g := &going{m: m, s: s, rows: rows}
	for _, u := range p.updates {
		_ = g.update(u) // a sample that is refused changes something, too
	}
	f, err := g.file()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMachines: files of all machines say what they said before they were translated, and say it to
// a dump.
func TestMachines(t *testing.T) {
	r := seedtest.Rand(t)
	for range 40 {
		f := sample(t, rand.New(rand.NewPCG(r.Uint64(), 7)))
		raw, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range machines {
			checkMachine(t, f, m, translate(raw, m, raw[7]))
			if f.Version != 3 {
				continue
			}
			// Versions 1 and 2 have whole seconds.
			whole := *f
			whole.State.LastUpdate = rra.Seconds(f.State.LastUpdate.Unix())
			whole.Version = 2
			checkMachine(t, &whole, m, translate(raw, m, '2'))
			whole.Version = 1
			checkMachine(t, &whole, m, translate(raw, m, '1'))
		}
	}
}

func checkMachine(t *testing.T, want *rrdfile.File, m machine, raw []byte) {
	t.Helper()
	got, err := rrdfile.Decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	if d := cmp.Diff(want, got, sameFloats, noEmpty, cmpopts.IgnoreUnexported(rrdfile.File{})); d != "" {
		t.Fatalf("%s, version %d (-before +after):\n%s", m.name, want.Version, d)
	}
	if got, want := dump(t, got, time.UTC), dump(t, want, time.UTC); got != want {
		t.Fatalf("%s: dump (-before +after):\n%s", m.name, diffLines(want, got))
	}
	// What is left off is found.
	for _, n := range []int{len(raw) - 1, len(raw) - 16, len(raw) / 2, 200, 100, 20, 4} {
		if n < len(raw) && n >= 0 {
			if _, err := rrdfile.Decode(raw[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes: no error", m.name, n, len(raw))
			}
		}
	}
}
