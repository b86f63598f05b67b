package rrdd_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/receivers/rrdd"
	"github.com/rondo-db/rondo/rra"
)

// A plugin publishes a temperature and a counter, which a reader takes.
func Example() {
	dir, err := os.MkdirTemp("", "metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	w := rrdd.Writer{Path: filepath.Join(dir, "sensors")}
	f := rrdd.File{
		Timestamp: 1700000000,
		Sources: []rrdd.Source{
			{Name: "temperature", Type: rrdd.Gauge, Units: "degC"},
			{Name: "turns", Type: rrdd.Derive, ValueType: rrdd.Int64, Default: true},
		},
		Values: []rra.Value{rra.Float(21.5), rra.Int(9007199254740993)},
	}
	if err := w.Write(&f); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	file, err := os.Open(w.Path)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}
	var r rrdd.Reader
	for range 2 {
		updated, err := r.Read(file, info.Size())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("update:", updated)
	}
	for _, s := range r.Sources() {
		fmt.Println(rrdd.Identify("sensors", &s).Path, s.Type, s.ValueType, s.Units)
	}
	// Output:
	// update: true
	// update: false
	// rrdd/sensors/host/temperature gauge float degC
	// rrdd/sensors/host/turns derive int64
}
