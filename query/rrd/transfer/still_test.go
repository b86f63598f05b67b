package transfer

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdfile"
)

// A restless file has changed again at each of the next times it is looked at.
type restless struct {
	memory
	times int
	at    time.Time
}

func (r *restless) Stat() (fs.FileInfo, error) {
	if r.times > 0 {
		r.times--
		r.at = r.at.Add(time.Second)
	}
	return fstest.MapFS{"x": {ModTime: r.at, Data: make([]byte, r.Len())}}.Stat("x")
}

// TestDecodeStill: a file that changes is read again, and fails if it does not stop.
func TestDecodeStill(t *testing.T) {
	bad := []byte("RRD\x00no")
	for _, times := range []int{1, 2, 3} { // at the first look nothing was read
		in := &restless{memory{bytes.NewReader(bad)}, times, time.Unix(1e9, 0)}
		if _, err := decodeStill(in, int64(len(bad)), new(rrdfile.Reader)); err == nil || errors.Is(err, errChanging) {
			t.Errorf("changed %d times: %v, want what is wrong with it", times, err)
		}
	}
	in := &restless{memory{bytes.NewReader(bad)}, 100, time.Unix(1e9, 0)}
	if _, err := decodeStill(in, int64(len(bad)), new(rrdfile.Reader)); !errors.Is(err, errChanging) {
		t.Errorf("changing: %v", err)
	}
}
