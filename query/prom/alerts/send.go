package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// Limits of sending.
const (
	maxQueue = 10_000          // alerts that wait for one receiver; the oldest are shed
	maxBatch = 64              // alerts in one request
	patience = time.Hour       // for how long a webhook is tried
	wait     = 5 * time.Second // before a webhook is tried again
)

// A message is an alert as it is sent.
type message struct {
	fingerprint         uint64
	labels, annotations labels.Labels
	starts, ends        time.Time // ends is when it was resolved, or will count as resolved
	resolved            bool
	news                bool // it has begun to fire or was resolved since it was sent last
	source              string
	made                time.Time
}

// A sender sends alerts to one receiver. An Alertmanager gets each alert every minute, and what
// cannot be sent is dropped: it comes again. A webhook gets only what is new, and each news is
// tried until it was taken.
type sender struct {
	client   *http.Client
	external string                          // where people reach the server; empty: nowhere
	warn     func(what string, args ...any)  // logs
	count    func(sent, failed, shed uint64) // counts alerts
	taken    func(ctx context.Context)       // notes that news need not be sent again
	url      string
	manager  bool
	wake     chan struct{}

	mu    sync.Mutex // guards all below
	queue []message
	sent  int   // the first messages of queue are on their way
	err   error // why the last request failed; nil: it was taken, or there was none
}

// add queues messages.
func (s *sender) add(ms []message) {
	if len(ms) == 0 { // as after most evaluations
		return
	}
	s.mu.Lock()
	for _, m := range ms {
		if s.manager || m.news {
			s.queue = append(s.queue, m)
		}
	}
	shed := max(len(s.queue)-maxQueue, 0)
	s.queue = slices.Delete(s.queue, s.sent, s.sent+shed)
	s.mu.Unlock()
	if shed > 0 {
		s.count(0, 0, uint64(shed))
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends what is queued until ctx ends.
func (s *sender) run(ctx context.Context) {
	for {
		s.mu.Lock()
		s.sent = min(len(s.queue), maxBatch)
		batch := slices.Clone(s.queue[:s.sent])
		s.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
				continue
			}
		}
		for !s.post(ctx, batch) {
			if s.manager || ctx.Err() != nil || time.Since(batch[len(batch)-1].made) > patience {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		if ctx.Err() != nil {
			return // the batch stays in the queue
		}
		s.mu.Lock()
		s.queue, s.sent = slices.Delete(s.queue, 0, s.sent), 0
		s.mu.Unlock()
		if !s.manager {
			s.taken(ctx)
		}
	}
}

// unsent returns the alerts whose news a webhook has not got, by the hash of their labels.
func (m *Manager) unsent() map[uint64]bool {
	out := make(map[uint64]bool)
	for _, s := range m.senders {
		s.mu.Lock()
		for i := 0; i < len(s.queue) && !s.manager; i++ { // a manager gets each alert again anyway
			out[s.queue[i].fingerprint] = true
		}
		s.mu.Unlock()
	}
	return out
}

// post sends a batch and reports whether it was taken, or will never be.
func (s *sender) post(ctx context.Context, batch []message) (done bool) {
	body, err := s.body(batch)
	if err == nil {
		err = s.request(ctx, body)
	}
	if ctx.Err() != nil {
		return false
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	if err == nil {
		s.count(uint64(len(batch)), 0, 0)
	} else {
		s.count(0, uint64(len(batch)), 0)
		s.warn("alerts were not sent", "to", Redacted(s.url), "alerts", len(batch), "err", err)
	}
	return err == nil || errors.Is(err, errRefused)
}

// errRefused says that sending the same again is of no use.
var errRefused = errors.New("refused")

func (s *sender) request(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "rondo")
	answer, err := s.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may have a password
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 512))
	err = errors.Join(err, answer.Body.Close())
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode/100 == 4 && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %s: %.200s", errRefused, answer.Status, strings.TrimSpace(string(text)))
	}
	return errors.Join(fmt.Errorf("%s: %.200s", answer.Status, strings.TrimSpace(string(text))), err)
}

// maxRedirects is how many redirects of one request are followed, as Prometheus does.
const maxRedirects = 10

// redirect decides about the next request of a redirected one. A receiver may send alerts elsewhere
// by 307 and 308. By 301, 302 and 303 nothing but a GET would get there, so that their answer
// stands and says that the alerts were not taken. The next receiver does not see the address of the
// one before, whose query may have a token.
func redirect(r *http.Request, via []*http.Request) error {
	if r.Method != http.MethodPost || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	r.Header.Del("Referer")
	return nil
}

// Redacted returns the address of a receiver without what may be a secret in it: a password, a
// user's name that stands alone, and the values of its query.
func Redacted(address string) string {
	const hidden = "xxxxx"
	u, err := url.Parse(address)
	if err != nil {
		return hidden
	}
	if _, ok := u.User.Password(); u.User != nil && !ok {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		pairs := strings.Split(u.RawQuery, "&")
		for i, p := range pairs {
			name, _, ok := strings.Cut(p, "=")
			if pairs[i] = hidden; ok {
				pairs[i] = name + "=" + hidden
			}
		}
		u.RawQuery = strings.Join(pairs, "&")
	}
	return u.Redacted()
}

// A sentAlert is an alert in JSON, as Alertmanager's API takes it; a webhook gets Status and
// Fingerprint, too.
type sentAlert struct {
	Status       string        `json:"status,omitempty"`
	Labels       labels.Labels `json:"labels"`
	Annotations  labels.Labels `json:"annotations"`
	StartsAt     time.Time     `json:"startsAt"`
	EndsAt       time.Time     `json:"endsAt"`
	GeneratorURL string        `json:"generatorURL"`
	Fingerprint  string        `json:"fingerprint,omitempty"`
}

// body returns the request for a batch: a list for an Alertmanager; for a webhook the message that
// an Alertmanager of version 0.28 sends to webhooks (its version is 4).
func (s *sender) body(batch []message) ([]byte, error) {
	list := make([]sentAlert, len(batch))
	status := "resolved"
	for i, m := range batch {
		list[i] = sentAlert{Labels: m.labels, Annotations: m.annotations, StartsAt: m.starts, EndsAt: m.ends, GeneratorURL: m.source}
		if s.manager {
			continue
		}
		list[i].Status, list[i].Fingerprint = "resolved", fmt.Sprintf("%016x", m.fingerprint)
		if !m.resolved {
			list[i].Status, list[i].EndsAt = "firing", time.Time{}
			status = "firing"
		}
	}
	if s.manager {
		return json.Marshal(list)
	}
	return json.Marshal(map[string]any{
		"version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0, "status": status, "receiver": "rondo",
		"groupLabels": struct{}{}, "commonLabels": struct{}{}, "commonAnnotations": struct{}{},
		"externalURL": s.external, "alerts": list,
	})
}
