package graphitebench

import (
	"fmt"
	"net"
	"sync"
)

// step is the seconds from one round to the next, in the times of points.
const step = 10

// A load is the lines to send: in each round one of each name.
type load struct {
	names  int
	conns  int
	first  int64      // second of the first round, which makes the series
	rounds [][][]byte // by connection and round
}

// name returns a name, of hosts with 100 each.
func name(i int) string {
	return fmt.Sprintf("servers.web%05d.cpu%d.percent-%d", i/100, i/10%10, i%10)
}

func newLoad(names, rounds, conns int, last int64) *load {
	l := &load{names: names, conns: conns, first: last - int64(rounds)*step}
	for c := range conns {
		var all [][]byte
		for r := range rounds + 1 {
			var text []byte
			for i := c; i < names; i += conns {
				text = fmt.Appendf(text, "%s %d.%02d %d\n", name(i), (i*7+r)%100, (i+r)%100, l.first+int64(r)*step)
			}
			all = append(all, text)
		}
		l.rounds = append(l.rounds, all)
	}
	return l
}

// send sends the rounds from one to another over the connections, as fast as they take them.
func (l *load) send(conns []net.Conn, from, to int) error {
	errs := make([]error, len(conns))
	var sending sync.WaitGroup
	for c, conn := range conns {
		sending.Go(func() {
			for _, text := range l.rounds[c][from:to] {
				if _, errs[c] = conn.Write(text); errs[c] != nil {
					return
				}
			}
		})
	}
	sending.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
