package alerts

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/internal/conffile"
	"github.com/rondo-db/rondo/query/prom/bound"
)

// Limits of the files.
const (
	MaxFile  = 4 << 20 // bytes of one file
	maxRules = 10_000  // rules in all files
)

// A group is a group of rules with its state. Its evaluation belongs to one goroutine; what others
// read is guarded by Manager.mu.
type group struct {
	file, name  string
	interval    time.Duration
	offset      time.Duration // how long before the evaluation its queries ask
	limit       int           // most alerts or samples of one rule; 0: no limit
	rules       []*rule
	evaluated   time.Time     // when the last evaluation was for; zero: never
	took        time.Duration // by the last evaluation
	fingerprint uint64        // of file and name: spreads evaluations over the interval
	turn        string        // its name for Turns
	mine        bool          // the last word to this process was that it evaluates it
	kept        bool          // Turns keep its alerts for the next process
	unsent      bool          // when they were kept, a webhook had not got all news
	keeping     sync.Mutex    // held while they are kept; taken before Manager.mu
}

// key identifies the group.
func (g *group) key() string { return g.file + ";" + g.name }

// next returns when the group is evaluated first after now. Groups are spread over their interval,
// each at the same place of it after every start.
func (g *group) next(now time.Time) time.Time {
	shift := time.Duration(g.fingerprint % uint64(g.interval))
	at := now.Truncate(g.interval).Add(shift)
	if !at.After(now) {
		at = at.Add(g.interval)
	}
	return at
}

// step returns the step of the series that the group records: its interval in whole seconds.
func (g *group) step() time.Duration { return max(g.interval.Truncate(time.Second), time.Second) }

// Parse reads files of rules. Each name may be a pattern, as of filepath.Match; a name without a
// pattern must exist. every is the interval of groups that name none. The error has file, line and
// rule of every mistake.
func Parse(names []string, every time.Duration) error {
	_, err := parse(names, every)
	return err
}

// Files returns the files that names and patterns stand for, sorted, each once. The error names the
// patterns that are none.
func Files(names []string) (files []string, err error) {
	for _, name := range names {
		found, wrong := filepath.Glob(name)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
		}
		if len(found) == 0 && !strings.ContainsAny(name, "*?[") { // no pattern
			found = []string{name} // reading it says why not
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return slices.Compact(files), err
}

func parse(names []string, every time.Duration) ([]*group, error) {
	files, err := Files(names)
	errs := []error{err}
	var groups []*group
	rules := 0
	for _, file := range files {
		gs, err := parseFile(file, every)
		errs = append(errs, err)
		for _, g := range gs {
			rules += len(g.rules)
		}
		groups = append(groups, gs...)
	}
	if rules > maxRules {
		errs = append(errs, fmt.Errorf("%d rules: there may be %d", rules, maxRules))
	}
	return groups, errors.Join(errs...)
}

func parseFile(file string, every time.Duration) ([]*group, error) {
	content, err := conffile.Read(file, MaxFile)
	if err != nil {
		return nil, err
	}
	if err := bounded(content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	parsed, errs := rulefmt.Parse(content, false, model.UTF8Validation)
	if len(errs) > 0 {
		for i, err := range errs {
			errs[i] = fmt.Errorf("%s: %w", file, err)
		}
		return nil, errors.Join(errs...)
	}
	var groups []*group
	for _, pg := range parsed.Groups {
		g := &group{file: file, name: pg.Name, interval: every, limit: pg.Limit, fingerprint: hash(file + ";" + pg.Name)}
		if pg.Interval > 0 {
			g.interval = time.Duration(pg.Interval)
		}
		if pg.QueryOffset != nil {
			g.offset = time.Duration(*pg.QueryOffset)
		}
		seen := make(map[string]int)
		for _, in := range pg.Rules {
			r := newRule(in, pg.Labels)
			key := fmt.Sprint(r.alerting, r.key())
			r.twin = seen[key]
			seen[key]++
			g.rules = append(g.rules, r)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// bounded refuses expressions that would take too long to parse. Other mistakes are found later.
func bounded(content []byte) error {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct{ Expr string }
		}
	}
	_ = yaml.Unmarshal(content, &file)
	for _, g := range file.Groups {
		for i, r := range g.Rules {
			var b bound.Budget
			if err := b.Expression(r.Expr); err != nil {
				return fmt.Errorf("group %q, rule %d: %w", g.Name, i+1, err)
			}
		}
	}
	return nil
}
