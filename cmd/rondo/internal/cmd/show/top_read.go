package show

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// How much is read at once.
const (
	topPage     = 2000                   // series in a request
	topRows     = 16                     // rows of each, which say how far it spreads
	topShare    = 5                      // one part in so many of the time is spent reading
	topFirst    = 300 * time.Millisecond // of reading before the screen is drawn, in the first pass
	topInterval = 2 * time.Second
)

// A topRun is a run of rondo top.
type topRun struct {
	*cli.Factory
	format   string
	once     bool
	sort     string
	reverse  bool
	filter   string
	rows     int
	ascii    bool
	interval cli.Duration
}

// latestPage returns the newest rows of a page of series.
func latestPage(ctx context.Context, api rondov1.RondoCalls, prefix, page string) (*rondov1.LatestResponse, error) {
	answer, err := api.Latest(ctx, connect.NewRequest(&rondov1.LatestRequest{Prefix: prefix, Page: page, Limit: topPage, Rows: topRows}))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}
