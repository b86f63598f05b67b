package transfer

import (
	"bytes"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// Decode reads a native file or XML. Of XML it reads the whole history of FAILURES archives.
func Decode(b []byte) (*rrdfile.File, error) {
	if IsNative(b) {
		return rrdfile.Decode(b)
	}
	return decodeXML(bytes.NewReader(b))
}
