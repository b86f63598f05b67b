package receivebench

import (
	"fmt"
	"sync"

	"github.com/rondo-db/rondo/receivers/smon"
	"github.com/rondo-db/rondo/rra"
)

// smonInterval is the seconds between two values of a token: the receiver's step.
const smonInterval = 10

// A smonLoad is streams of 100 tokens each, all of numbers.
type smonLoad struct {
	random  random
	streams []smonStream
}

type smonStream struct {
	smon.Encoder
	sources []source
}

func newSmonLoad(seed uint64, series int) load {
	l := &smonLoad{random: random(seed), streams: make([]smonStream, (series+hostSeries-1)/hostSeries)}
	for i := range l.streams {
		for n := range hostSeries {
			s := [...]shape{busy, idle, whole, whole, constant}[n%5]
			l.streams[i].sources = append(l.streams[i].sources, newSource(s, &l.random))
		}
	}
	return l
}

func (l *smonLoad) size() (messages, series, values int) {
	n := len(l.streams)
	return n, n * hostSeries, n * hostSeries
}

func (l *smonLoad) before() [][]byte { return nil }

// smonNames are the names of a stream's tokens.
var smonNames = sync.OnceValue(func() (names []string) {
	for n := range hostSeries {
		names = append(names, fmt.Sprintf("bench.value.%d", n))
	}
	return names
})

func (l *smonLoad) step(i int) (message []byte, samples, values int) {
	s := &l.streams[i]
	s.Clear()
	names := smonNames()
	for n := range s.sources {
		s.sources[n].next(&l.random)
		if err := s.Unsigned(names[n], nil, uint64(s.sources[n].v)); err != nil {
			panic(fmt.Sprintf("token %s: %v", names[n], err)) // a test makes all of them
		}
	}
	return s.Bytes(), hostSeries, hostSeries
}

func (l *smonLoad) series(n int) state {
	t := smon.Token{Name: smonNames()[n%hostSeries]}
	v := rra.Uint(uint64(l.streams[n/hostSeries].sources[n%hostSeries].v))
	return state{
		Path:     smon.Identify(hostAddress(n/hostSeries), &t, nil).Path,
		Readings: []string{rra.FormatReading(v, nil)},
	}
}
