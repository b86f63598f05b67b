package engine

import (
	"context"

	"github.com/rondo-db/rondo/rra"
)

// Metadata is what is known of a path beside its numbers: a text that arrived in place of a number,
// and attributes such as units and a description. A path may have metadata and be no series.
type Metadata struct {
	Time       rra.Time // when it arrived
	Text       string   // the newest text; empty: none
	Attributes []Label  // units, description, …: in order of their names
	Expire     int64    // seconds without a sample or a text after which the path has expired; 0: never
	Expired    bool     // it has: it is no longer live, and the attributes are forgotten
}

// PathMetadata is the metadata of one path.
type PathMetadata struct {
	Path string
	Metadata
}

// SetMetadata keeps metadata of paths, with one log record.
func (s *Store) SetMetadata(ctx context.Context, ms []PathMetadata) ([]error, error) {
	return make([]error, len(ms)), nil
}

// Metadata returns what is kept of a path.
func (s *Store) Metadata(path string) (Metadata, error) { return Metadata{}, nil }

// Relabel gives a series other labels.
func (s *Store) Relabel(ctx context.Context, path string, labels []Label) error { return nil }
