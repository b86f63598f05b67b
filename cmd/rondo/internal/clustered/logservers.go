package clustered

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal/jetstream"
)

const (
	// surveyTime is the time between two surveys. Many partitions make it longer.
	surveyTime = 5 * time.Second
	// surveyRate is how many streams are asked about in a second, on average.
	surveyRate = 50
)

// A surveyor asks the servers of NATS again and again how they are.
type surveyor struct {
	servers *Servers
	bucket  *natskv.Store
	survey  *jetstream.Survey
	last    atomic.Pointer[operate.LogServers]
	asked   chan struct{} // closed after the first survey
	// found gets what each survey has found; nil: nobody does.
	found func(context.Context, *operate.LogServers)
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// startSurveyor starts to ask.
func startSurveyor(s *Servers, bucket *natskv.Store, found func(context.Context, *operate.LogServers)) (*surveyor, error) {
	survey, err := jetstream.NewSurvey(bucket.Conn(), s.monitors(), len(s.Monitor) == 0)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	y := &surveyor{servers: s, bucket: bucket, survey: survey, asked: make(chan struct{}), found: found, stop: stop}
	y.ended.Go(func() { y.run(ctx) })
	return y, nil
}

// close ends the asking. y may be nil.
func (y *surveyor) close() {
	if y != nil {
		y.stop()
		y.ended.Wait()
	}
}

func (y *surveyor) run(ctx context.Context) {
	partitions := 0 // never changes once it is known
	for n := 0; ; n++ {
		if partitions == 0 {
			partitions = y.partitions(ctx)
		}
		l := logServers(y.survey.Ask(ctx, y.streams(partitions)))
		y.last.Store(l)
		if y.found != nil {
			y.found(ctx, l)
		}
		if n == 0 {
			close(y.asked)
		}
		if sleep.For(ctx, max(surveyTime, time.Duration(partitions)*time.Second/surveyRate)) != nil {
			return
		}
	}
}

// partitions returns how many the map has; 0: it is not known.
func (y *surveyor) partitions(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	v, err := coord.NewWatcher(y.bucket, coord.Times{}, time.Now).Look(ctx)
	if err != nil {
		return 0 // whoever looks at the cluster sees it
	}
	return len(v.Map.Partitions)
}

// streams returns the streams of the partitions, and the map's.
func (y *surveyor) streams(partitions int) (names []string) {
	for p := range partitions {
		names = append(names, y.servers.stream(p))
	}
	return append(names, natskv.Stream(y.servers.bucket().Bucket))
}

// known returns what the last survey has found; nil: there was none.
func (y *surveyor) known(context.Context) *operate.LogServers { return y.last.Load() }

// first is known, after the first survey or when ctx ends.
func (y *surveyor) first(ctx context.Context) *operate.LogServers {
	select {
	case <-y.asked:
	case <-ctx.Done():
	}
	return y.known(ctx)
}

// logServers returns the outcome of a survey as operators get it. The map was asked for last.
func logServers(s *jetstream.Surveyed) *operate.LogServers {
	n := len(s.Streams) - 1
	return &operate.LogServers{Servers: s.Servers, Logs: s.Streams[:n], Map: s.Streams[n]}
}
