package alerts

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// A State says what is true of an alert.
type state string

const (
	inactive state = "inactive" // resolved; it is still sent for a while, and known for longer
	pending  state = "pending"  // true, not yet for long enough
	firing   state = "firing"
)

const (
	resend  = time.Minute      // how often an alert is sent again while nothing changes
	tell    = 15 * time.Minute // for how long a resolved alert is sent
	known   = 24 * time.Hour   // for how long it is known
	outage  = time.Hour        // after a longer pause, pending alerts begin anew
	missing = 4                // an alert without news for so many intervals counts as resolved
)

// An alert is what an alerting rule says about one set of labels. The zero time means never.
type alert struct {
	Labels      labels.Labels `json:"labels"`
	Annotations labels.Labels `json:"annotations"`
	Value       float64       `json:"-"` // may be infinite, which JSON is not
	State       state         `json:"state"`
	ActiveAt    time.Time     `json:"active_at"`
	FiredAt     time.Time     `json:"fired_at,omitzero"`
	ResolvedAt  time.Time     `json:"resolved_at,omitzero"`
	SentAt      time.Time     `json:"sent_at,omitzero"`
	KeepSince   time.Time     `json:"keep_since,omitzero"` // the expression is false since then
}

// due reports whether an alert must be sent at a time, and whether that is news: it began to fire,
// or was resolved, since it was sent last.
func (a *alert) due(at time.Time) (due, news bool) {
	if a.State == pending || a.State == inactive && at.Sub(a.ResolvedAt) > tell {
		return false, false
	}
	news = a.FiredAt.After(a.SentAt) || a.ResolvedAt.After(a.SentAt)
	return news || at.Sub(a.SentAt) >= resend, news
}

// shift moves the times of an alert with a clock that was set by d. After a jump forward only that
// moves from which the alert waits, so that it is sent again at once.
func (a *alert) shift(d time.Duration) {
	moving := []*time.Time{&a.KeepSince}
	if a.State == pending || d < 0 {
		moving = append(moving, &a.ActiveAt)
	}
	if d < 0 {
		moving = append(moving, &a.FiredAt, &a.ResolvedAt, &a.SentAt)
	}
	for _, t := range moving {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}

func (a *alert) latest() time.Time {
	return slices.MaxFunc([]time.Time{a.ActiveAt, a.FiredAt, a.ResolvedAt, a.SentAt, a.KeepSince}, time.Time.Compare)
}
