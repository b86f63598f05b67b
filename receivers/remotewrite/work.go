package remotewrite

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// What a request may hold. A message of two bytes can stand for a series, so that the size of a
// body bounds nothing.
const (
	maxSeries   = 250_000
	maxSamples  = 500_000
	maxMetadata = 1 << 16  // families
	maxSymbols  = 1 << 21  // of 2.0
	maxSpelled  = 64 << 20 // bytes of the labels of all series of 2.0, written out
	maxLabels   = core.MaxLabels
	maxKey      = 1<<16 - 1 // bytes of the labels of a series as 1.0 writes them
)

// A work is the memory in which one request is read. It is used again for further requests.
type work struct {
	body     []byte // unpacked
	version  int
	series   []wireSeries
	samples  []wireSample
	metadata []wireMetadata
	symbols  []span // of 2.0, in body
	spelled  int    // bytes of the labels of 2.0 so far, written out
	keys     []byte // labels that do not stand together in body
	spelling []byte // the key that was written out last
	label    []wireLabel
	names    []byte       // names and values of the labels of one series
	free     []core.Label // room for the labels of the next series
	before   []core.Label // the labels of the series before

	// unpack reserves memory; nil: there is no limit. reserved gives back what it has reserved.
	unpack   func(n int64) (release func(), ok bool)
	reserved []func()

	batch  core.Batch
	zeros  []int    // which samples of batch were put in: they may be late
	flight uint16   // of the samples in it: see flights
	hash   uint64   // of the request: see bodies
	epoch  uint64   // of entries
	entry  []uint32 // by series; none: the key is not known
	fresh  []fresh  // series that were entered for this request
	texts  []text   // metadata that is to be stored
	// changed is the families whose metadata has changed.
	changed []family
	// news and reqs are the next series that are to be made, and failed is why the sink made none.
	// The series from next on have not been looked at.
	news   []newcomer
	reqs   []receivers.Request
	next   int
	failed error
	refusals
}

// A text says that the metadata of a series is to be stored.
type text struct {
	number uint32 // of the series
	of     int32  // its index in the request, or the complement of an index in work.changed
}

// A span is a part of a body.
type span struct{ from, to uint32 }

// A fresh series is one that was entered into the table: its number, and its index in the request.
type fresh struct {
	number uint32
	i      int
}

// A wireSeries is one series of a request.
type wireSeries struct {
	// labels is the labels as 1.0 writes them, one field each, or of 2.0 the references. It points
	// into the body, or into work.keys. If fault is not empty, it may lack some.
	labels     []byte
	from, to   uint32 // its samples
	end        uint32 // where the samples of the next series begin in work.batch
	native     uint32 // native histograms
	exemplars  uint32
	fault      string // what is wrong with its labels; empty: nothing
	kind       kind   // of 2.0, as are the fields below
	help, unit uint32
	created    int64 // milliseconds since 1970; 0: not said
	later      bool  // it cannot be made now: the request is to be sent again
}

// A wireSample is one sample: the bits of a double, and milliseconds since 1970.
type wireSample struct {
	bits  uint64
	ms    int64
	start int64 // when its counter began; 0: not said
}

// A wireMetadata is the metadata of one family of metrics.
type wireMetadata struct {
	family, help, unit []byte
	kind               kind
}

type wireLabel struct{ name, value []byte }

func (w *work) reset() {
	w.series, w.samples, w.metadata = w.series[:0], w.samples[:0], w.metadata[:0]
	w.symbols, w.keys, w.entry, w.spelled = w.symbols[:0], w.keys[:0], w.entry[:0], 0
	w.fresh, w.texts, w.failed, w.next = w.fresh[:0], w.texts[:0], nil, 0
	w.changed = w.changed[:0]
	w.forgetNews()
	w.batch.Reset()
	w.zeros = w.zeros[:0]
	w.refusals.reset()
}

// errBusy says that there is no memory for a request now.
var errBusy = &receivers.Error{Reason: receivers.Overload, What: "unpacked requests take too much memory"}

// charge reserves n bytes for what is made of the body.
func (w *work) charge(n int) error {
	if w.unpack == nil {
		return nil
	}
	release, ok := w.unpack(int64(n))
	if !ok {
		return errBusy
	}
	w.reserved = append(w.reserved, release)
	return nil
}

// release gives back what was charged.
func (w *work) release() {
	for _, release := range w.reserved {
		release()
	}
	clear(w.reserved)
	w.unpack, w.reserved = nil, w.reserved[:0]
}

// room returns s with room for one more element, which is charged. most is how many a request may
// have.
func room[T any](w *work, s []T, most int, what string) ([]T, error) {
	n := len(s)
	if n >= most {
		return s, &receivers.Error{Reason: receivers.Limit, What: fmt.Sprintf("the request has more than %d %s", most, what)}
	}
	if n < cap(s) {
		return s, nil
	}
	more := min(max(n, 64), most-n)
	if err := w.charge((n + more) * int(unsafe.Sizeof(s[:1][0]))); err != nil {
		return s, err
	}
	return slices.Grow(s, more), nil
}

// addSeries adds a series whose samples are those since s.from.
func (w *work) addSeries(s wireSeries) (err error) {
	s.to = uint32(len(w.samples))
	if w.series, err = room(w, w.series, maxSeries, "series"); err == nil {
		w.series = append(w.series, s)
	}
	return err
}

func (w *work) addSample(x wireSample) (err error) {
	if n := len(w.samples); n < cap(w.samples) && n < maxSamples { // mostly
		w.samples = append(w.samples, x)
		return nil
	}
	if w.samples, err = room(w, w.samples, maxSamples, "samples"); err == nil {
		w.samples = append(w.samples, x)
	}
	return err
}

func (w *work) forgetNews() {
	clear(w.news)
	clear(w.reqs)
	w.news, w.reqs = w.news[:0], w.reqs[:0]
}
