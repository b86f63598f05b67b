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

// stateText returns what the file is to hold.
func stateText(groups []*group, now time.Time) ([]byte, error) {
	out := stateFile{Version: stateVersion, Saved: now, Alerts: []savedAlert{}}
	for _, g := range groups {
		for _, r := range g.rules {
			for _, a := range r.active {
				out.Alerts = append(out.Alerts, savedAlert{g.key(), r.key(), strconv.FormatFloat(a.Value, 'g', -1, 64), *a})
			}
		}
	}
	return json.Marshal(out)
}

func writeState(file string, text []byte) error {
	return replace.File(file, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// readState reads the alerts of the file into their rules. An empty name is no file. Alerts of
// rules that are gone are forgotten, and those that were pending if the file is older than an hour.
func readState(file string, groups []*group, now time.Time) error {
	if file == "" {
		return nil
	}
	text, err := conffile.Read(file, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
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

// restore puts the alerts of a text into the rules that find returns; nil: the rule is gone. If the
// times of an alert are later than now, the clock was set back meanwhile.
func restore(text []byte, now time.Time, find func(group, rule string) *rule) error {
	var in stateFile
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&in); err != nil {
		return err
	}
	if in.Version != stateVersion {
		return fmt.Errorf("version %d, not %d", in.Version, stateVersion)
	}
	for _, s := range in.Alerts {
		r := find(s.Group, s.Rule)
		if r == nil || s.State == pending && now.Sub(in.Saved) > outage || len(r.active) >= maxAlerts {
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
			return fmt.Errorf("state %q", s.State)
		}
	}
	return nil
}
