package rrdd

import (
	"errors"

	"github.com/rondo-db/rondo/receivers"
)

var (
	// errGone is the error of a name that is no regular file, or no longer one.
	errGone = errors.New("no such plugin file")
	// errNoSample is the error of a file that rrd-client-lib has opened and not written to.
	errNoSample = &receivers.Error{Reason: receivers.Checksum, Offset: v2DataSum, What: "there is no sample in it yet"}
	// errChanged is the error of a file that was rewritten while it was read.
	errChanged = &receivers.Error{Reason: receivers.Checksum, Offset: v2DataSum, What: "it changed while it was read"}
)
