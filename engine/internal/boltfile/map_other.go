//go:build !unix

package boltfile

import (
	"os"

	bolt "go.etcd.io/bbolt"
)

// mapsSparsely says that a mapping may be larger than the file.
const mapsSparsely = false

// metaPages is empty here: this system does not let anybody cut an open file.
type metaPages struct{}

func mapMetas(*os.File, int) (*metaPages, error) { return new(metaPages), nil }

func (p *metaPages) check() error { return nil }

// unlock closes the file, which this system does not let a process open twice. Readers that come
// meanwhile get the error that the database is not open.
func unlock(_ *os.File, db *bolt.DB) error { return db.Close() }

func (p *metaPages) unmap() {}
