package mono

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/rra"
)

// An Offer is a counter that a Sender has.
type Offer struct {
	Counter        // the Sender gives it its index
	Bits    uint64 // the first value, as in Value
	Step    uint64 // what is added to it at each sample, likewise
	Asleep  bool   // it is sampled only once an inspector has asked for it
}

// A Sender is an agent with counters that are made up: it samples them, and answers an inspector.
// It is for trying out inspectors, such as the receiver of this package.
type Sender struct {
	dialect Dialect

	mu     sync.Mutex // guards what follows
	offers []offered
	next   int16 // index of the next counter that an inspector adds
}

// An offered is an Offer and the value that was sent last, as only what has changed is sent.
type offered struct {
	Offer
	sent  uint64
	known bool // a value was sent
}

// NewSender returns a Sender of counters.
func NewSender(d Dialect, offers []Offer) (*Sender, error) {
	if len(offers) > MaxCounters {
		return nil, fmt.Errorf("%d counters, at most %d are allowed", len(offers), MaxCounters)
	}
	s := &Sender{dialect: d}
	names := make(map[wanted]bool)
	for _, o := range offers {
		w := wanted{o.Category.String(), o.Name}
		if names[w] {
			return nil, fmt.Errorf("counter %q is given twice", w)
		}
		names[w] = true
		if !o.Asleep {
			o.Index = s.next
			s.next++
		}
		s.offers = append(s.offers, offered{Offer: o})
	}
	return s, nil
}

// AppendHello appends the Sender's hello.
func (s *Sender) AppendHello(dst []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var cs []Counter
	for _, o := range s.offers {
		if !o.Asleep {
			cs = append(cs, o.Counter)
		}
	}
	return AppendHello(dst, cs)
}

// AppendSample appends a sample at the time t, and adds their steps to the values.
func (s *Sender) AppendSample(dst []byte, t rra.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []Value
	for i := range s.offers {
		o := &s.offers[i]
		if !o.Asleep && (!o.known || o.sent != o.Bits) {
			values = append(values, Value{o.Index, o.Type, o.Bits})
			o.sent, o.known = o.Bits, true
		}
		if o.Type == Double {
			o.Bits = math.Float64bits(math.Float64frombits(o.Bits) + math.Float64frombits(o.Step))
		} else {
			o.Bits += o.Step
		}
	}
	return AppendSample(dst, Ticks(t), values)
}

// AppendAnswer appends the answer to r. A good bye has no answer.
func (s *Sender) AppendAnswer(dst []byte, r Request) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Command {
	case ListRequest:
		var pairs []Pair
		for _, o := range s.offers {
			p := Pair{o.Name, o.Category.String()}
			if s.dialect == AgentDialect {
				p.First, p.Second = p.Second, p.First
			}
			pairs = append(pairs, p)
		}
		return AppendList(dst, pairs)
	case AddRequest:
		return s.add(dst, r)
	case RemoveRequest:
		for i := range s.offers {
			if o := &s.offers[i]; !o.Asleep && o.Index == r.Index {
				o.Asleep, o.known = true, false
				return AppendRemoved(dst, OK), nil
			}
		}
		return AppendRemoved(dst, NotFound), nil
	}
	return dst, nil
}

func (s *Sender) add(dst []byte, r Request) ([]byte, error) {
	for i := range s.offers {
		o := &s.offers[i]
		if o.Category.String() != r.Category || o.Name != r.Name {
			continue
		}
		switch {
		case !o.Asleep:
			return AppendAdded(dst, Existing, nil)
		case s.next < 0: // there are no more
			return AppendAdded(dst, NotOK, nil)
		}
		o.Asleep, o.Index = false, s.next
		s.next++
		return AppendAdded(dst, OK, &o.Counter)
	}
	return AppendAdded(dst, NotFound, nil)
}

// Samples says when a Sender samples.
type Samples struct {
	First    rra.Time // time of the first; 0: time of sending, as of all others
	Interval time.Duration
	Count    int // 0: until the inspector says good bye or the context ends
}

func (s Samples) at(n int) rra.Time {
	if s.First == 0 {
		return rra.Time(time.Now().UnixMicro())
	}
	return s.First + rra.Time(time.Duration(n)*s.Interval/time.Microsecond)
}

// Record writes what an agent records to a file.
func (s *Sender) Record(w io.Writer, when Samples) error {
	b, err := s.AppendHello(nil)
	for n := 0; err == nil && n < when.Count; n++ {
		if b, err = s.AppendSample(b, when.at(n)); err == nil && len(b) > 1<<16 {
			_, err = w.Write(b)
			b = b[:0]
		}
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

var errGoodBye = errors.New("the inspector has said good bye")

// hangUpTime is how long an inspector has to hang up once the last sample is sent.
const hangUpTime = 5 * time.Second

// Run samples over a connection to an inspector, and answers it, until all samples are sent, the
// inspector says good bye, or ctx ends. It closes conn.
func (s *Sender) Run(ctx context.Context, conn net.Conn, when Samples) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var answering sync.WaitGroup
	defer answering.Wait()
	defer func() { _ = conn.Close() }() // what was to be written has been
	var writing sync.Mutex
	write := func(b []byte) error {
		if err := conn.SetWriteDeadline(time.Now().Add(sockets.DefaultWriteTime)); err != nil {
			return err
		}
		_, err := conn.Write(b)
		return err
	}
	b, err := s.AppendHello(nil)
	if err != nil {
		return err
	}
	if err := write(b); err != nil {
		return err
	}
	answering.Go(func() {
		cancel(s.answer(conn, func(r Request) error {
			writing.Lock() // or a sample would not have what was just announced
			defer writing.Unlock()
			b, err := s.AppendAnswer(nil, r)
			if err != nil || len(b) == 0 {
				return err
			}
			return write(b)
		}))
	})
	sample := func(n int) error {
		writing.Lock()
		defer writing.Unlock()
		b, err := s.AppendSample(nil, when.at(n))
		if err != nil {
			return err
		}
		return write(b)
	}
	if err = each(ctx, when, sample); err == nil {
		return hangUp(ctx, conn)
	}
	select { // where writing fails, reading may return a better error
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, errGoodBye) {
			return nil
		}
	case <-time.After(time.Second):
	}
	return err
}

// each calls sample as often as there are samples, an interval apart.
func each(ctx context.Context, when Samples, sample func(n int) error) error {
	tick := time.NewTicker(max(when.Interval, time.Microsecond))
	defer tick.Stop()
	for n := 0; when.Count == 0 || n < when.Count; n++ {
		if n > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := sample(n); err != nil {
			return err
		}
	}
	return nil
}

// hangUp ends a connection such that the bytes that were sent arrive. Closing it with unread bytes
// would reset it.
func hangUp(ctx context.Context, conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := half.CloseWrite(); err != nil {
		return err
	}
	_ = sleep.For(ctx, hangUpTime) // it ends when the reader has come to the end
	return nil
}

// answer reads requests until the inspector goes, and returns why.
func (s *Sender) answer(conn io.Reader, answer func(Request) error) error {
	in := bufio.NewReader(conn)
	for {
		r, err := ReadRequest(in, s.dialect)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
			return errors.New("the inspector has hung up")
		case err != nil:
			return err
		case r.Command == GoodByeRequest:
			return errGoodBye
		}
		if err := answer(r); err != nil {
			return err
		}
	}
}
