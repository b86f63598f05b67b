package mono

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/allowance"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/rra"
)

// maxHeld is how many bytes of memory the announcements of all agents may take together. One
// agent's take up to 5 MB.
const maxHeld = 256 << 20

// A server is the receiver.
type server struct {
	streams.Server
	set     settings
	held    atomic.Int64         // by the decoders of all agents, in bytes
	carried allowance.Allowances // values carried forward for the agents of one address

	maxHeld    int64
	answerTime time.Duration // how long an agent may take to answer

	mu    sync.Mutex        // guards what follows
	peers map[string]*agent // connected
}

// An agent is one connection, or one file that an agent has recorded.
type agent struct {
	*streams.Stream
	s     *server
	since time.Time

	// writing is held while a request is written, because requests are answered in the order in
	// which they are written. It is locked before mu.
	writing sync.Mutex
	// left says that no more requests are written: good bye was said, or a write has failed. It is
	// guarded by writing.
	left bool

	mu        sync.Mutex // guards what follows
	dec       Decoder
	series    []receivers.Series // by position in dec.Readings
	new       []int              // positions whose series are to be described
	positions []int              // 0, 1, 2, … for all readings
	asked     []*question
	greeted   bool // the hello has come, and the agent is to be asked for counters
	samples   uint64
	last      rra.Time        // time of the last sample
	ctx       context.Context // during decode
	now       time.Time       // when the bytes at hand were read
	gen       uint64          // generation of the references
	held      int             // bytes counted in server.held
	value     [1]rra.Value
}

func (a *agent) forgetSeries(i int) {
	if a.series[i].Ref != 0 {
		a.s.Series.Add(-1)
	}
	a.series[i] = receivers.Series{}
}

// bad counts and logs the error that ends the stream.
func (a *agent) bad(err error) {
	a.s.Drop(receivers.ReasonOf(err), 1)
	offset := 0
	if e, ok := errors.AsType[*receivers.Error](err); ok {
		offset = e.Offset
	}
	a.s.Lines.Log(a.s.Config.Logger.Warn, a.Host, a.s.Config.Now(), "mono: stream ends", "peer", a.Peer, "offset", offset, "err", err)
}

func (a *agent) log(key, what string, args ...any) {
	a.s.Lines.Log(a.s.Config.Logger.Warn, key, a.now, "mono: "+what, append(args, "peer", a.Peer)...)
}

// reading returns a counter that is sampled, or nil. a.mu is held.
func (a *agent) reading(w wanted) *Reading {
	rs := a.dec.Readings()
	for i := range rs {
		if r := &rs[i]; !r.Removed && r.Name == w.name && r.Category.String() == w.category {
			return r
		}
	}
	return nil
}
