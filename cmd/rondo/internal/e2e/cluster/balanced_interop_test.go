package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// A balanced sender sends to one node after the other by all protocols that have answers, each
// request over a connection of its own, and the same to one machine. It sends again what is to be
// sent again.
type balanced struct {
	*testing.T
	one    *rondotest.Daemon
	client http.Client
	rounds int
}

const (
	balancedBegin = 1_700_000_000
	balancedStep  = 30
)

func newBalanced(t *testing.T, one *rondotest.Daemon) *balanced {
	return &balanced{T: t, one: one, client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
}

// send sends the next round, each protocol to another node.
func (s *balanced) send(nodes ...*rondotest.Daemon) {
	s.Helper()
	i := s.rounds
	s.rounds++
	at := balancedBegin + balancedStep*i
	counted := i%7*100 + i // it begins again
	var write prompb.WriteRequest
	for name, v := range map[string]float64{"load": float64(i*i%17) / 3, "requests_total": float64(counted)} {
		write.Timeseries = append(write.Timeseries, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: name}, {Name: "instance", Value: "i"}, {Name: "job", Value: "j"}},
			Samples: []prompb.Sample{{Value: v, Timestamp: int64(at) * 1000}},
		})
	}
	remote, err := write.Marshal()
	if err != nil {
		s.Fatal(err)
	}
	point := func(from int, v string) string {
		return fmt.Sprintf(`"dataPoints":[{"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000","asDouble":%s}]`, from, at, v)
	}
	otlp := fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeMetrics":[{"metrics":[
		{"name":"orders","sum":{"aggregationTemporality":1,"isMonotonic":true,%s}},{"name":"visits","sum":{"aggregationTemporality":2,"isMonotonic":true,%s}}]}]}]}`,
		point(at-balancedStep, fmt.Sprint(i%5)), point(at-balancedStep*(i%7)-1, fmt.Sprint(counted)))
	for k, send := range []func(d *rondotest.Daemon) error{
		func(d *rondotest.Daemon) error {
			return s.post(d, "/write?precision=s", "text/plain", fmt.Appendf(nil, "cpu,host=h idle=%d.25,busy=%di %d", 90-i, i, at))
		},
		func(d *rondotest.Daemon) error {
			return s.post(d, "/api/v1/write", "application/x-protobuf", snappy.Encode(nil, remote))
		},
		func(d *rondotest.Daemon) error { return s.post(d, "/v1/metrics", "application/json", []byte(otlp)) },
		func(d *rondotest.Daemon) error { return s.update(d, i, at, counted) },
	} {
		for n, d := range []*rondotest.Daemon{s.one, nodes[(i+k)%len(nodes)]} {
			err := send(d)
			for end := time.Now().Add(2 * time.Minute); err != nil; err = send(d) {
				if n == 0 || time.Now().After(end) {
					s.Fatalf("round %d of protocol %d: %v", i, k, err)
				}
				time.Sleep(50 * time.Millisecond) // as senders do
			}
		}
	}
}

func (s *balanced) post(d *rondotest.Daemon, path, kind string, body []byte) error {
	r, err := s.client.Post(d.URL+path, kind, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }() // it is read
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}

// update makes series by rrdcached's protocol, and updates them by a BATCH.
func (s *balanced) update(d *rondotest.Daemon, i, at, counted int) error {
	conn, err := net.Dial("tcp", d.Listens["rrdcached"])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is lost with it
	in := bufio.NewReader(conn)
	ask := func(commands string) error {
		if _, err := io.WriteString(conn, commands); err != nil {
			return err
		}
		line, err := in.ReadString('\n')
		if err == nil && !strings.HasPrefix(line, "0 ") {
			err = fmt.Errorf("rrdcached: %s", line)
		}
		return err
	}
	if i == 0 {
		err = ask(fmt.Sprintf("CREATE by/rrdcached.rrd -s 10 -b %d DS:g:GAUGE:100:U:U DS:c:COUNTER:100:0:U RRA:AVERAGE:0.5:1:200 RRA:MAX:0.5:6:50\n", balancedBegin-10))
		if err != nil && !strings.Contains(err.Error(), "exists") { // by an attempt before
			return err
		}
	}
	if err := ask("BATCH\n"); err != nil {
		return err
	}
	err = ask(fmt.Sprintf("UPDATE by/rrdcached.rrd %d:%d.5:%d %d:%d:%d\n.\n", at, i, counted, at+5, 2*i, counted+1))
	if err == nil || !strings.Contains(err.Error(), "errors") {
		return err
	}
	why, err := in.ReadString('\n')
	if err == nil && !strings.Contains(why, "minimum one second step") { // else an attempt before has stored it
		err = fmt.Errorf("rrdcached: %s", why)
	}
	return err
}

// compare waits until nodes show the rows of one machine, bit for bit.
func (s *balanced) compare(nodes ...*rondotest.Daemon) {
	s.Helper()
	paths := strings.Fields(rondotest.Run(s.T, s.one.DB, "list"))
	if len(paths) < 7 {
		s.Errorf("there are only the series %q", paths)
	}
	for _, path := range paths {
		if strings.HasPrefix(path, "rondo/") {
			continue
		}
		for _, cf := range []string{"AVERAGE", "MAX"} {
			fetch := fmt.Sprintf(`{"path":%q,"cf":%q,"start":"%d","end":"%d"}`, path, cf, balancedBegin-60, balancedBegin+balancedStep*s.rounds)
			want, got := s.one.Call(s.T, "Fetch", fetch), ""
			for _, d := range nodes {
				for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // a replica may lag behind
					if got = d.Call(s.T, "Fetch", fetch); got == want {
						break
					}
					if time.Now().After(end) {
						s.Errorf("%s:\n%s\non one machine:\n%s", path, got, want)
						break
					}
				}
			}
		}
	}
}

// read asks nodes one after the other for lists, rows and expressions until done is closed; it
// closes ready when it has asked for the first time. Each answer has all that was there then, or is
// an error.
func (s *balanced) read(ready, done chan struct{}, nodes ...*rondotest.Daemon) (answers int, failed []string) {
	at := balancedBegin + balancedStep*(s.rounds-2) // rows before it do not change any more
	questions := []struct{ path, want string }{
		{"/api/v1/query?query=count(%7Bhost=%22h%22%7D)&time=" + fmt.Sprint(at), `,"2"]`},
		{"/api/v1/query?query=sum_over_time(load[1h])&time=" + fmt.Sprint(at), ""},
		{"/api/v1/series?match[]=%7Bjob=~%22.%2B%22%7D", ""},
		{"/api/v1/label/__name__/values?match[]=%7Bjob=~%22.%2B%22%7D", ""},
	}
	for first := true; ; first = false {
		for i := range questions {
			q := &questions[i]
			for _, d := range nodes {
				text, err := s.get(d.URL + q.path)
				switch {
				case err != nil && first:
					s.Errorf("%s: %v", q.path, err)
				case err != nil:
					failed = append(failed, err.Error())
				case q.want == "":
					q.want = text
				case !strings.Contains(text, q.want):
					s.Errorf("%s was answered with %s, want %s", q.path, text, q.want)
				default:
					answers++
				}
			}
		}
		if first {
			close(ready)
		}
		select {
		case <-done:
			return answers, failed
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *balanced) get(url string) (string, error) {
	r, err := s.client.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }() // it is read
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return string(text), err
}
