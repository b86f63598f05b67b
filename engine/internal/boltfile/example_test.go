package boltfile_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// Example writes a value and reads it back. A key that is not found is looked for in damaged pages
// before it counts as absent.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "boltfile")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	bucket, key := []byte("names"), []byte("cellar")

	f, err := boltfile.Open(filepath.Join(dir, "rondo.bolt"), boltfile.Options{})
	check(err)
	check(f.Update(bucket, func(tx *boltfile.Tx) error {
		if _, err := tx.MakeBucket(bucket); err != nil {
			return err
		}
		return tx.Put(bucket, key, []byte("12"))
	}, func(written bool) { fmt.Println("written:", written) }))
	check(f.View(bucket, func(tx *boltfile.Tx) error {
		v, err := tx.Get(bucket, key)
		fmt.Printf("%s\n", v)
		return err
	}))
	check(f.Close())

	// Output:
	// written: true
	// 12
}

// ExampleFile_Guard shows a panic inside of a guarded function as the damage that it stands for.
func ExampleFile_Guard() {
	dir, err := os.MkdirTemp("", "boltfile")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	f, err := boltfile.Open(filepath.Join(dir, "rondo.bolt"), boltfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Guard([]byte("rows"), func() error { panic("page 7 is no page") }))
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}

	// Output:
	// damaged: bucket rows: page 7 is no page
}
