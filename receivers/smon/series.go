package smon

import (
	"strconv"

	"github.com/rondo-db/rondo/receivers"
)

// appendPath appends the path of a token at an index below prefix: /NAME[/I1/I2…].
func appendPath(prefix []byte, t *Token, index []uint64) []byte {
	path := receivers.AppendComponent(append(prefix, '/'), t.Name)
	for _, n := range index {
		path = strconv.AppendUint(append(path, '/'), n, 10)
	}
	return path
}
