package alerts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/internal/conffile"
	"github.com/rondo-db/rondo/internal/replace"
)

// A stateFile is the file that keeps alerts over a restart.
type stateFile struct {
	Version int          `json:"version"`
	Saved   time.Time    `json:"saved"`
	Alerts  []savedAlert `json:"alerts"`
}

type savedAlert struct {
	Group string `json:"group"`
	Rule  string `json:"rule"`
	Value string `json:"value,omitempty"`
	alert
}

const (
	stateVersion = 1
	maxState     = 256 << 20 // bytes of the file
)

// stateText returns what the file is to hold. The alerts in unsent, by the hash of their labels,
// will be news again.
func stateText(groups []*group, unsent map[uint64]bool, now time.Time) ([]byte, error) {
	out := stateFile{Version: stateVersion, Saved: now, Alerts: []savedAlert{}}
	for _, g := range groups {
		for _, r := range g.rules {
			for h, a := range r.active {
				saved := savedAlert{g.key(), r.key(), strconv.FormatFloat(a.Value, 'g', -1, 64), *a}
				if unsent[h] {
					saved.SentAt = time.Time{}
				}
				out.Alerts = append(out.Alerts, saved)
			}
		}
	}
	return json.Marshal(out)
}

// save writes the alerts into the file that keeps them.
func (m *Manager) save() {
	if m.StateFile == "" {
		return
	}
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	text, err := stateText(m.groups, m.unsent(), m.Now())
	m.mu.Unlock()
	if err == nil {
		err = replace.File(m.StateFile, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	if err != nil {
		m.warn("the state of alerts was not saved", "file", m.StateFile, "err", err)
	}
}

// readState reads the alerts of the file into their rules, and returns the alerts whose rule is
// gone. An empty name is no file. What was pending is forgotten if the file is older than an hour.
func readState(file string, groups []*group, now time.Time) (gone []*alert, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := conffile.Read(file, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rules := alertingRules(groups)
	return restore(text, now, func(group, name string) *rule { return rules[ruleKey{group, name}] })
}

// A ruleKey identifies a rule among the rules of all files.
type ruleKey struct{ group, rule string }

func alertingRules(groups []*group) map[ruleKey]*rule {
	rules := make(map[ruleKey]*rule)
	for _, g := range groups {
		for _, r := range g.rules {
			if r.alerting {
				rules[ruleKey{g.key(), r.key()}] = r
			}
		}
	}
	return rules
}

// restore puts the alerts of a text into the rules that find returns. For those that are gone it
// returns nil, and restore the alerts. If the times of an alert are later than now, the clock was
// set back meanwhile.
func restore(text []byte, now time.Time, find func(group, rule string) *rule) (gone []*alert, err error) {
	var in stateFile
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&in); err != nil {
		return nil, err
	}
	if in.Version != stateVersion {
		return nil, fmt.Errorf("version %d, not %d", in.Version, stateVersion)
	}
	for i, s := range in.Alerts {
		r := find(s.Group, s.Rule)
		switch {
		case r == nil:
			gone = append(gone, &in.Alerts[i].alert)
			continue
		case s.State == pending && now.Sub(in.Saved) > outage, len(r.active) >= maxAlerts:
			continue
		}
		switch s.State {
		case pending, firing, inactive:
			a := s.alert
			a.Value, _ = strconv.ParseFloat(s.Value, 64) // 0 in a file of an older program
			if ahead := a.latest().Sub(now); ahead > 0 {
				a.shift(-ahead)
			}
			r.active[a.Labels.Hash()] = &a
		default:
			return gone, fmt.Errorf("state %q", s.State)
		}
	}
	return gone, nil
}
