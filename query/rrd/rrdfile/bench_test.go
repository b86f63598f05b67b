package rrdfile_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// benchFile returns a file as collectd makes it for a value: 22,000 rows, 184 kB in native form.
func benchFile(b *testing.B) *rrdfile.File {
	args := []string{"DS:value:GAUGE:20:U:U"}
	for _, rra := range []string{"1:1200", "7:1235", "50:1210", "223:1202", "2635:1201"} {
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			args = append(args, "RRA:"+cf+":0.1:"+rra)
		}
	}
	args = append(args, "RRA:LAST:0.1:10:3856")
	f := fixed(b, 10, args...)
	r := rand.New(rand.NewPCG(1, 2))
	rows := 0
	for i := range f.State.Archives {
		values := f.State.Archives[i].Rows
		rows += len(values)
		for j := range values {
			values[j] = r.NormFloat64() * 100
		}
	}
	b.Logf("%d rows, %d bytes", rows, f.Size())
	return f
}

func BenchmarkDecode(b *testing.B) {
	raw := binaryOf(b, benchFile(b))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rrdfile.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImport is Decode and all that a store needs of the file.
func BenchmarkImport(b *testing.B) {
	raw := binaryOf(b, benchFile(b))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := rrdfile.Decode(raw)
		if err != nil {
			b.Fatal(err)
		}
		m, err := f.Machine()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.StateOf(m); err != nil {
			b.Fatal(err)
		}
		for i := range m.Streams() {
			f.StreamRows(m, i)
		}
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	f := benchFile(b)
	b.SetBytes(f.Size())
	b.ReportAllocs()
	var raw []byte
	for b.Loop() {
		raw, _ = f.AppendBinary(raw[:0])
	}
}

func BenchmarkWriteXML(b *testing.B) {
	f := benchFile(b)
	b.SetBytes(int64(len(dump(b, f, time.UTC))))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.WriteXML(io.Discard, rrdfile.HeaderDTD, time.UTC); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadXML(b *testing.B) {
	text := []byte(dump(b, benchFile(b), time.UTC))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rrdfile.ReadXML(bytes.NewReader(text), rrdfile.XMLOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
