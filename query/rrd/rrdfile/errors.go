package rrdfile

import (
	"errors"
	"fmt"
)

// ErrNotRRD says that a file is none of rrdtool's.
var ErrNotRRD = errors.New("is not an RRD file")

// A VersionError says that a file is of a version that is not known. The text is rrdtool's.
type VersionError struct {
	Version string
}

func (e *VersionError) Error() string { return "can't handle RRD file version " + e.Version }

// A FormatError says where a native file holds what it cannot.
type FormatError struct {
	Offset int64  // in bytes
	Field  string // as `rrdtool info` names it, where it does: "ds[0].type", "rra[1].cur_row"
	Err    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("offset %d: %s: %s", e.Offset, e.Field, e.Err)
}

// An XMLError says where an XML dump cannot be read.
type XMLError struct {
	Line int    // from 1
	Err  string // in rrdtool's words, where it has some

	prefix string
}

func (e *XMLError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Original is the error as `rrdtool restore` says it: some of its sentences begin with the line,
// and some with "ling".
func (e *XMLError) Original() string {
	if e.prefix == "" {
		return e.Err
	}
	return fmt.Sprintf("%s %d: %s", e.prefix, e.Line, e.Err)
}

// A FieldError says which field of a [File] a native file cannot hold.
type FieldError struct {
	Field string // as in a FormatError
	Err   string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err }
