package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A Picker finds the series that arguments of a command mean.
type Picker struct {
	API rondov1.RondoCalls
	Env rrdtool.Env // for names of files
}

// NewPicker returns a picker of the series of o. Names are read as rrdtool's verbs read them.
func NewPicker(c *Factory, db *backend.Database) (*Picker, error) {
	here, err := c.Place()
	if err != nil {
		return nil, err
	}
	p := &Picker{API: db.API()}
	here.Set(&p.Env)
	return p, nil
}

// Path returns the path that a name means. The top of the database has the empty path.
func (p *Picker) Path(name string) (string, error) {
	if name == "" {
		return "", errors.New("an empty name is no series and no folder; / is all of them")
	}
	if strings.Trim(name, "/") == "" { // with RONDO_BASE as well: as a file it would be outside
		return "", nil
	}
	path, err := p.Env.Path(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Quoted(name), err)
	}
	return path, nil
}

// One returns the series of a name. The error wraps core.ErrNotFound, and names series like it.
func (p *Picker) One(ctx context.Context, name string) (*rondov1.InfoResponse, error) {
	info, err := p.Exactly(ctx, name)
	if errors.Is(err, core.ErrNotFound) {
		err = p.Missing(ctx, name)
	}
	return info, err
}

// Exactly is One without the search for names like it.
func (p *Picker) Exactly(ctx context.Context, name string) (*rondov1.InfoResponse, error) {
	path, err := p.Path(name)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, core.ErrNotFound
	}
	info, err := p.Info(ctx, path)
	if connect.CodeOf(err) == connect.CodeNotFound {
		err = core.ErrNotFound
	}
	return info, err
}

// Missing returns the error that no series has a name, with what may have been meant.
func (p *Picker) Missing(ctx context.Context, name string) error {
	hint := ""
	if path, err := p.Path(name); err == nil {
		below, err := p.Page(ctx, &rondov1.ListRequest{Prefix: FolderOf(path), Limit: 1, Brief: true})
		if err == nil && len(below) > 0 {
			hint = "; it is a folder: rondo list -r " + Quoted(name) + " prints its series"
		} else if like := p.Like(ctx, path); like != "" {
			hint = "; " + like
		}
	}
	return &missingError{"there is no series " + Quoted(name) + hint}
}

// A missingError is core.ErrNotFound in other words.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }
func (e *missingError) Unwrap() error { return core.ErrNotFound }

// mostLike is how many names like another one a message has.
const mostLike = 3

// Like returns which series may have been meant by a path that no series has, as a part of a
// message; "" if none is like it.
func (p *Picker) Like(ctx context.Context, path string) string {
	if similar := p.similar(ctx, path); similar != "" {
		return "did you mean " + Quoted(similar) + "?"
	}
	segments := strings.Split(strings.TrimSuffix(path, ".rrd"), "/")
	var names []string
	for skip := -1; skip < len(segments) && len(names) < mostLike; skip++ { // -1: no segment
		words := slices.Clone(segments)
		if skip >= 0 {
			words = slices.Delete(words, skip, skip+1)
		}
		answer, err := p.API.Search(ctx, &rondov1.SearchRequest{Text: strings.Join(words, " ")})
		if err != nil {
			break // an older server, or a path that is no text for a search: the hint is left out
		}
		for _, h := range answer.GetHits() {
			if name := Quoted(h.GetPath()); !h.GetFolder() && len(names) < mostLike && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if skip < 0 && len(names) > 0 {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "names like it: " + strings.Join(names, ", ")
}

// Metadata returns the metadata of the path that a name means, or nil. The error is of a store that
// cannot say now whether there is any.
func (p *Picker) Metadata(ctx context.Context, name string) (*typesv1.Metadata, error) {
	path, err := p.Path(name)
	if err != nil || path == "" {
		return nil, nil
	}
	answer, err := p.API.Metadata(ctx, &rondov1.MetadataRequest{Prefix: path, Limit: 1})
	switch {
	case connect.CodeOf(err) == connect.CodeUnavailable:
		return nil, err
	case err != nil || len(answer.GetMetadata()) == 0 || answer.GetMetadata()[0].GetPath() != path:
		return nil, nil
	}
	return answer.GetMetadata()[0], nil
}

// mostSimilar bounds the series that are compared to find a similar name.
const mostSimilar = 1000

// similar returns the path in the same folder that differs least from path, or "" if none is close.
func (p *Picker) similar(ctx context.Context, path string) string {
	folder := path[:strings.LastIndexByte(path, '/')+1]
	series, err := p.Page(ctx, &rondov1.ListRequest{Prefix: folder, Limit: mostSimilar, Brief: true})
	if err != nil {
		return ""
	}
	best, least := "", max(1, len(path)/4)
	for _, s := range series {
		if d := Distance(strings.TrimSuffix(path, ".rrd"), strings.TrimSuffix(s.GetPath(), ".rrd"), least); d <= least && (best == "" || d < least) {
			best, least = s.GetPath(), d
		}
	}
	return best
}

// Distance returns how many bytes must be changed, inserted or removed to turn a into b
// (Levenshtein's distance), or limit + 1 if it is more than limit.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := above
			if a[i] != b[j] {
				change++
			}
			above = row[j+1]
			row[j+1] = min(change, above+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Page returns a page of series.
func (p *Picker) Page(ctx context.Context, req *rondov1.ListRequest) ([]*rondov1.Series, error) {
	answer, err := p.API.List(ctx, req)
	if err != nil {
		return nil, err
	}
	return answer.GetSeries(), nil
}

// Info returns the series of a path.
func (p *Picker) Info(ctx context.Context, path string) (*rondov1.InfoResponse, error) {
	return p.API.Info(ctx, &rondov1.InfoRequest{Path: path})
}

// FolderOf returns the prefix of all paths below a path.
func FolderOf(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, "/") + "/"
}

// Below returns the paths of all series below a path, and of the series of the path itself.
func (p *Picker) Below(ctx context.Context, path string) ([]string, error) {
	var paths []string
	if path != "" {
		info, err := p.Info(ctx, path)
		if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
			return nil, err
		}
		if err == nil {
			paths = append(paths, info.GetSeries().GetPath())
		}
	}
	more, err := p.All(ctx, &rondov1.ListRequest{Prefix: FolderOf(path), Brief: true})
	return append(paths, more...), err
}

// Labelled returns the paths of the series that have all of some labels: name=value, name!=value,
// name=~pattern or name!~pattern.
func (p *Picker) Labelled(ctx context.Context, labels []string) ([]string, error) {
	req := &rondov1.ListRequest{Brief: true}
	for _, text := range labels {
		m, err := ParseMatcher(text)
		if err != nil {
			return nil, err
		}
		req.Matchers = append(req.Matchers, m)
	}
	return p.All(ctx, req)
}

// All returns the paths of all pages of a list.
func (p *Picker) All(ctx context.Context, req *rondov1.ListRequest) ([]string, error) {
	return p.Matching(ctx, req, nil, math.MaxInt)
}

// Matching returns the paths of a list that match, with .rrd or without. It reads no more pages
// when there are more than so many.
func (p *Picker) Matching(ctx context.Context, req *rondov1.ListRequest, matches func(string) bool, most int) (paths []string, err error) {
	for {
		answer, err := p.API.List(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, s := range answer.GetSeries() {
			if path := s.GetPath(); matches == nil || matches(path) || matches(strings.TrimSuffix(path, ".rrd")) {
				paths = append(paths, path)
			}
		}
		if req.Page = answer.GetNextPage(); req.Page == "" || len(paths) > most {
			return paths, nil
		}
	}
}

// ParseMatcher reads a label that series must have.
func ParseMatcher(text string) (*typesv1.Matcher, error) {
	i := strings.IndexAny(text, "=!")
	for _, op := range []string{"=~", "!~", "!=", "="} {
		if value, ok := strings.CutPrefix(text[max(i, 0):], op); ok && i > 0 {
			return &typesv1.Matcher{Name: text[:i], Op: op, Value: value}, nil
		}
	}
	return nil, fmt.Errorf("--label %s: want name=value, name!=value, name=~pattern or name!~pattern", Quoted(text))
}

// Quoted returns a name in quotes, for messages.
func Quoted(name string) string { return "'" + OneLine(name) + "'" }

// WithoutPrefix returns the error in a server's answer without the text that the protocol adds.
func WithoutPrefix(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code() == connect.CodeNotFound {
		return &missingError{e.Message()}
	}
	return errors.New(e.Message())
}
