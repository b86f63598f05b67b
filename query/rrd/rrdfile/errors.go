package rrdfile

import (
	"errors"
	"fmt"
)

// ErrNotRRD says that a file is not a native file of rrdtool.
var ErrNotRRD = errors.New("is not an RRD file")

// A VersionError says that a native file has an unknown version. Its text is rrdtool's.
type VersionError struct {
	Version string
}

func (e *VersionError) Error() string { return "can't handle RRD file version " + e.Version }

// A FormatError says where a native file holds an impossible value.
type FormatError struct {
	Offset int64  // in bytes
	Field  string // "ds[0].type", "rra[1].cur_row"; `rrdtool info` uses the same names
	Err    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("offset %d: %s: %s", e.Offset, e.Field, e.Err)
}

// An XMLError says where a dump cannot be read.
type XMLError struct {
	Line int    // from 1
	Err  string // rrdtool's text, if rrdtool reports the mistake

	prefix string
}

func (e *XMLError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Original returns the text that `rrdtool restore` prints. Some of its texts begin with "line" and
// the number of the line, and some, by a slip of rrdtool, with "ling".
func (e *XMLError) Original() string {
	if e.prefix == "" {
		return e.Err
	}
	return fmt.Sprintf("%s %d: %s", e.prefix, e.Line, e.Err)
}

// A FieldError says which field of a [File] has a value that a native file cannot hold.
type FieldError struct {
	Field string // named as in a FormatError
	Err   string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err }
