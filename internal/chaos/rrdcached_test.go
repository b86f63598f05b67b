package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// rrdcachedDoor speaks rrdcached's protocol. Every other series is a counter.
type rrdcachedDoor struct {
	addr     [localcluster.Machines]string
	all      []series
	counters []counter
	most     int // rows

	conn net.Conn
	node int // that conn leads to
	in   *bufio.Reader
}

func newRRDCachedDoor(addr [localcluster.Machines]string, prefix string, n int, start int64, most int) *rrdcachedDoor {
	d := &rrdcachedDoor{addr: addr, most: most}
	for i := range n {
		s := series{path: fmt.Sprintf("%s/s%d", prefix, i), start: start, first: 1, row: func(n int) float64 { return level(i, n) }}
		if i%2 == 1 {
			s.first = 2 // a counter's first row is unknown
		}
		d.all, d.counters = append(d.all, s), append(d.counters, counter{series: i})
	}
	return d
}

func (d *rrdcachedDoor) series() []series { return d.all }

func (d *rrdcachedDoor) close() {
	if d.conn != nil {
		_ = d.conn.Close() // all was read
		d.conn = nil
	}
}

// to connects to a node. The deadline is ctx's.
func (d *rrdcachedDoor) to(ctx context.Context, node int) error {
	if d.conn != nil && d.node != node {
		d.close()
	}
	if d.conn == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.addr[node])
		if err != nil {
			return err
		}
		d.conn, d.node, d.in = conn, node, bufio.NewReader(conn)
	}
	deadline, _ := ctx.Deadline()
	return d.conn.SetDeadline(deadline)
}

// ask sends a request and returns the lines of its answer, without the number in front of the first.
// Any error ends the connection.
func (d *rrdcachedDoor) ask(request string) (status int, lines []string, err error) {
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if _, err := d.conn.Write([]byte(request)); err != nil {
		return 0, nil, err
	}
	for more := 1; more > 0; more-- {
		line, err := d.in.ReadString('\n')
		if err != nil {
			return 0, nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		if lines == nil {
			number, text, _ := strings.Cut(line, " ")
			if status, err = strconv.Atoi(number); err != nil {
				return 0, nil, &unexpectedError{line}
			}
			more, line = max(status, 0)+1, text
		}
		lines = append(lines, line)
	}
	return status, lines, nil
}

func (d *rrdcachedDoor) prepare(ctx context.Context, node int) error {
	if err := d.to(ctx, node); err != nil {
		return err
	}
	for i, s := range d.all {
		kind := "ABSOLUTE"
		if i%2 == 1 {
			kind = "COUNTER"
		}
		status, lines, err := d.ask(fmt.Sprintf("CREATE %s -O -s 1 -b %d DS:x:%s:100000:0:U RRA:AVERAGE:0:1:%d\n", s.path, s.start, kind, d.most+10))
		if err != nil {
			return err
		}
		if status < 0 && !strings.Contains(lines[0], "exist") {
			return d.refusal(lines[0])
		}
	}
	return nil
}

// refusal returns the error that a line of an answer is.
func (d *rrdcachedDoor) refusal(line string) error {
	if strings.Contains(line, "try again") {
		return fmt.Errorf("%w: %s", errTryAgain, line)
	}
	return &unexpectedError{line}
}

const isLate = "minimum one second step" // of rrdtool's message

// send sends a BATCH if there is one sample, and an UPDATE for each series if there are more.
func (d *rrdcachedDoor) send(ctx context.Context, node int, b batch) (late int, err error) {
	if err := d.to(ctx, node); err != nil {
		return 0, err
	}
	if b.samples == 1 {
		return d.batch(b.from)
	}
	for i := range d.all {
		status, lines, err := d.ask(d.update(i, b.from, b.samples))
		if err != nil {
			return late, err
		}
		if status >= 0 {
			continue
		}
		if !strings.Contains(lines[0], isLate) {
			return late, d.refusal(lines[0])
		}
		// Some were stored by an attempt before: each by itself.
		for n := b.from; n < b.from+b.samples; n++ {
			status, lines, err := d.ask(d.update(i, n, 1))
			switch {
			case err != nil:
				return late, err
			case status >= 0:
			case strings.Contains(lines[0], isLate):
				late++
			default:
				return late, d.refusal(lines[0])
			}
		}
	}
	return late, nil
}

func (d *rrdcachedDoor) update(i, from, n int) string {
	var b strings.Builder
	b.WriteString("UPDATE " + d.all[i].path)
	for ; n > 0; n, from = n-1, from+1 {
		v := level(i, from)
		if i%2 == 1 {
			v = d.counters[i].at(from)
		}
		fmt.Fprintf(&b, " %d:%.0f", d.all[i].start+int64(from), v)
	}
	b.WriteString("\n")
	return b.String()
}

// batch sends sample number n of each series.
func (d *rrdcachedDoor) batch(n int) (late int, err error) {
	var b strings.Builder
	for i := range d.all {
		b.WriteString(d.update(i, n, 1))
	}
	if status, lines, err := d.ask("BATCH\n"); err != nil || status != 0 {
		if err == nil {
			err = d.refusal(lines[0])
		}
		return 0, err
	}
	_, lines, err := d.ask(b.String() + ".\n")
	if err != nil {
		return 0, err
	}
	for _, l := range lines[1:] {
		if strings.Contains(l, isLate) {
			late++
		} else {
			err = d.refusal(l)
		}
	}
	return late, err
}
