package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/search"
)

// A Row is a host on a page.
type Row struct {
	search.Host

	Last    time.Time // the newest update of its series, or of some of them; zero: nothing is known
	Silent  bool      // none of them was updated for four of its steps and a minute
	Alerts  []string  // the names of those that fire and name the host
	Figures [allCells]float64
	Spark   search.Spark // what says most about the host, or what is pinned

	known *known
}

// A Request asks for a page of hosts.
type Request struct {
	Filter string // words that names and senders have, and label=value that a series has
	// Sort is the column by which hosts are put in order behind those that need attention: seen,
	// cpu, load, memory, disk, in, out, alerts, or pin; greater values come first. With a minus
	// before it, lesser ones do. Empty and -name are the order of names.
	Sort   string
	Pin    string // words of a path below a host, whose value is a column
	Offset int
	Limit  int
	Sparks bool // find what says most
	Within []string
	Firing map[string][]string // alerts that fire, by host
	Now    time.Time
}

// ErrSort says that there is no such column.
var ErrSort = errors.New("hosts cannot be put in order by that")

// columns are the names of figures in Request.Sort.
var columns = []string{"cpu", "load", "memory", "disk", "in", "out", "pin"}

// A Page is some of the hosts.
type Page struct {
	Rows   []Row
	Total  int    // hosts that the filter leaves
	Domain string // that all hosts whose names have one share, with its dot
	Named  bool   // behind those about which alerts fire, hosts are in order of their names
}

// Page returns a page of hosts: those about which alerts fire, then silent ones, then others. More
// than 20,000 hosts are Named. Errors wrap ErrSort, core.ErrMemory, or are the store's or ctx's.
func (b *Board) Page(ctx context.Context, r Request) (*Page, error) {
	by, up := strings.CutPrefix(r.Sort, "-")
	if by != "" && by != "name" && by != "seen" && by != "alerts" && !slices.Contains(columns, by) {
		return nil, fmt.Errorf("%.40q: %w", r.Sort, ErrSort)
	}
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	all, err := b.Index.Hosts(ctx, r.Within)
	if err != nil {
		return nil, err
	}
	out := &Page{Domain: domainOf(all)}
	if all, err = b.filtered(ctx, all, r.Filter, r.Within); err != nil {
		return nil, err
	}
	share := core.ShareOf(b.Store)
	defer func() { _ = share.Resize(0) }() // giving back does not fail
	if err := share.Resize(rowBytes * int64(len(all))); err != nil {
		return nil, err
	}
	rows := make([]*Row, len(all))
	for i := range all {
		rows[i] = &Row{Host: all[i], Alerts: r.Firing[all[i].Name]}
		rows[i].Figures[Pin] = math.NaN()
	}
	out.Total = len(rows)
	if out.Named = len(rows) > maxRated; out.Named {
		slices.SortStableFunc(rows, func(x, y *Row) int { return cmp.Compare(x.class(), y.class()) })
	} else if err := b.order(ctx, rows, by, up, &r); err != nil {
		return nil, err
	}
	rows = rows[min(r.Offset, len(rows)):]
	rows = rows[:min(r.Limit, len(rows))]
	if err := b.fill(ctx, rows, &r, true); err != nil {
		return nil, err
	}
	for _, x := range rows {
		if r.Sparks {
			if err := b.spark(ctx, x, &r); err != nil {
				return nil, err
			}
		}
		out.Rows = append(out.Rows, *x)
	}
	return out, nil
}

// fill reads what rows show.
func (b *Board) fill(ctx context.Context, rows []*Row, r *Request, figures bool) error {
	if err := b.look(ctx, rows, r.Within, r.Now); err != nil {
		return err
	}
	if err := b.listen(ctx, rows, r.Now); err != nil || !figures {
		return err
	}
	if err := b.pin(ctx, rows, r); err != nil {
		return err
	}
	return b.measure(ctx, rows, r.Now)
}

func (b *Board) order(ctx context.Context, rows []*Row, by string, up bool, r *Request) error {
	column := slices.Index(columns, by)
	if err := b.fill(ctx, rows, r, column >= 0); err != nil {
		return err
	}
	sign := 1
	if up {
		sign = -1
	}
	slices.SortStableFunc(rows, func(x, y *Row) int {
		if c := cmp.Compare(x.class(), y.class()); c != 0 {
			return c
		}
		switch {
		case by == "name":
			return -sign * strings.Compare(x.Name, y.Name)
		case by == "seen":
			return sign * y.Last.Compare(x.Last)
		case by == "alerts":
			return sign * cmp.Compare(len(y.Alerts), len(x.Alerts))
		case column < 0:
			return 0
		}
		v, w := x.Figures[column], y.Figures[column]
		if math.IsNaN(v) || math.IsNaN(w) { // last, in either order
			return cmp.Compare(w, v)
		}
		return sign * cmp.Compare(w, v)
	})
	return nil
}

// class returns how much a host needs attention; 0 is most.
func (r *Row) class() int {
	switch {
	case len(r.Alerts) > 0:
		return 0
	case r.Silent:
		return 1
	}
	return 2
}

// filtered returns the hosts that a filter leaves.
func (b *Board) filtered(ctx context.Context, all []search.Host, filter string, within []string) ([]search.Host, error) {
	for word := range strings.FieldsSeq(filter) {
		name, value, isLabel := strings.Cut(word, "=")
		if !isLabel || name == "" {
			word = strings.ToLower(word)
			all = slices.DeleteFunc(all, func(h search.Host) bool {
				return !strings.Contains(strings.ToLower(h.Name+" "+strings.Join(h.Senders, " ")), word)
			})
			continue
		}
		var paths []string
		for e, err := range b.Store.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: name, Value: value}}}) {
			if errors.Is(err, core.ErrDamaged) {
				break
			}
			if err != nil {
				return nil, err
			}
			paths = append(paths, e.Path)
		}
		names, err := b.Index.HostsOf(ctx, paths, within)
		if err != nil {
			return nil, err
		}
		have := make(map[string]bool)
		for _, n := range names {
			have[n] = true
		}
		all = slices.DeleteFunc(all, func(h search.Host) bool { return !have[h.Name] })
	}
	return all, nil
}

// domainOf returns the domain that all hosts share whose names have one, if there are two at least.
func domainOf(all []search.Host) string {
	domain, n := "", 0
	for _, h := range all {
		at := strings.IndexByte(h.Name, '.')
		if at <= 0 || strings.Trim(h.Name, "0123456789.") == "" { // an address
			continue
		}
		if n++; n == 1 {
			domain = h.Name[at:]
		}
		for !strings.HasSuffix(h.Name, domain) || h.Name == domain {
			next := strings.IndexByte(domain[1:], '.')
			if next < 0 {
				return ""
			}
			domain = domain[1+next:]
		}
	}
	if n < 2 {
		return ""
	}
	return domain
}

// pin finds the series of each host that fits the words of a pin best, and reads its newest value.
func (b *Board) pin(ctx context.Context, rows []*Row, r *Request) error {
	words := strings.Fields(strings.ToLower(r.Pin))
	if len(words) == 0 {
		return nil
	}
	var found []*known
	for _, x := range rows {
		k := x.known
		if k.pin != r.Pin {
			k.pin, k.pinned, k.pinRef = r.Pin, nil, 0
			best := 0
			err := b.Index.Members(ctx, x.Name, r.Within, func(m search.Member) bool {
				if fit := fits(m.Path, words); fit > best {
					best, k.pinRef = fit, m.Ref
				}
				return true
			})
			if err != nil && !errors.Is(err, search.ErrHost) {
				return err
			}
		}
		if k.pinRef != 0 {
			found = append(found, k)
		}
	}
	values, refs := make([]*source, len(found)), make([]core.Ref, len(found))
	for i, k := range found {
		values[i], refs[i] = &source{beat: beat{ref: k.pinRef}, sign: new(sign), value: math.NaN()}, k.pinRef
	}
	err := b.Store.Resolve(ctx, refs, func(i int, x core.Series) bool {
		if x.Definition != nil {
			values[i].define(x.Definition)
		}
		return true
	})
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return err
	}
	defined := slices.DeleteFunc(slices.Clone(values), func(s *source) bool { return s.span == 0 })
	if err := b.read(ctx, defined, r.Now); err != nil {
		return err
	}
	of := make(map[*known]float64)
	for i, k := range found {
		of[k] = values[i].value
	}
	for _, x := range rows {
		if v, ok := of[x.known]; ok {
			x.Figures[Pin] = v
		}
	}
	return nil
}

// fits returns how well the path of a series fits words; 0: it lacks one.
// Whole names fit better than parts, and short paths better than long ones.
func fits(path string, words []string) int {
	path = strings.ToLower(path)
	fit := 1 << 20
	for _, w := range words {
		if !strings.Contains(path, w) {
			return 0
		}
		if slices.Contains(strings.FieldsFunc(path, func(c rune) bool { return strings.ContainsRune(`/{},="`, c) }), w) {
			fit += 1 << 16
		}
	}
	return fit - min(len(path), 1<<12)
}

// spark finds what a row shows as a line: what is pinned, or what says most.
func (b *Board) spark(ctx context.Context, x *Row, r *Request) (err error) {
	k := x.known
	if r.Pin != "" && k.pinRef != 0 {
		if k.pinned == nil {
			s, err := b.Index.SparkOf(ctx, k.pinRef)
			if err != nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrDamaged) {
				return err
			}
			k.pinned = &s
		}
		x.Spark = *k.pinned
		return nil
	}
	if k.spark == nil {
		s, err := b.Index.HostSpark(ctx, x.Name, r.Within)
		if err != nil {
			return err
		}
		k.spark = &s
	}
	x.Spark = *k.spark
	return nil
}
