package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A picker finds the series that arguments of a command mean.
type picker struct {
	api    rpc.API
	env    rrdtool.Env // for names of files
	labels []string    // name=value, name!=value, name=~pattern or name!~pattern; all must match
}

// newPicker returns a picker of the series of o. Names are read as rrdtool's verbs read them.
func newPicker(c *common, o *backend.Database, labels []string) (*picker, error) {
	here, err := c.place()
	if err != nil {
		return nil, err
	}
	p := &picker{api: o.API(), labels: labels}
	here.Set(&p.env)
	return p, nil
}

// path returns the path that a name means. The top of the database has the empty path.
func (p *picker) path(name string) (string, error) {
	if name == "" {
		return "", errors.New("an empty name is no series and no folder; / is all of them")
	}
	if strings.Trim(name, "/") == "" { // with RONDO_BASE as well: as a file it would be outside
		return "", nil
	}
	path, err := p.env.Path(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", quoted(name), err)
	}
	return path, nil
}

// one returns the series of a name. The error wraps core.ErrNotFound, and names similar ones.
func (p *picker) one(ctx context.Context, name string) (*rondov1.InfoResponse, error) {
	path, err := p.path(name)
	if err != nil {
		return nil, err
	}
	if path != "" {
		answer, err := p.api.Info(ctx, connect.NewRequest(&rondov1.InfoRequest{Path: path}))
		if err == nil {
			return answer.Msg, nil
		}
		if connect.CodeOf(err) != connect.CodeNotFound {
			return nil, err
		}
	}
	return nil, p.notFound(ctx, name, path)
}

// notFound returns the error that no series has a name, with a similar name if there is one.
func (p *picker) notFound(ctx context.Context, name, path string) error {
	err := fmt.Errorf("there is no series %s", quoted(name))
	if below, e := p.page(ctx, &rondov1.ListRequest{Prefix: folderOf(path), Limit: 1, Brief: true}); e == nil && len(below) > 0 {
		return fmt.Errorf("%w; it is a folder: rondo list -r %s prints its series", err, quoted(name))
	}
	if similar := p.similar(ctx, path); similar != "" {
		return fmt.Errorf("%w; did you mean %s?", err, quoted(similar))
	}
	return err
}

// metadata returns the metadata of the path that a name means, or nil. The error is of a store that
// cannot say now whether there is any.
func (p *picker) metadata(ctx context.Context, name string) (*typesv1.Metadata, error) {
	path, err := p.path(name)
	if err != nil || path == "" {
		return nil, nil
	}
	answer, err := p.api.Metadata(ctx, connect.NewRequest(&rondov1.MetadataRequest{Prefix: path, Limit: 1}))
	switch {
	case connect.CodeOf(err) == connect.CodeUnavailable:
		return nil, err
	case err != nil || len(answer.Msg.GetMetadata()) == 0 || answer.Msg.GetMetadata()[0].GetPath() != path:
		return nil, nil
	}
	return answer.Msg.GetMetadata()[0], nil
}

// mostSimilar bounds the series that are compared to find a similar name.
const mostSimilar = 1000

// similar returns the path in the same folder that differs least from path, or "" if none is close.
func (p *picker) similar(ctx context.Context, path string) string {
	folder := path[:strings.LastIndexByte(path, '/')+1]
	series, err := p.page(ctx, &rondov1.ListRequest{Prefix: folder, Limit: mostSimilar, Brief: true})
	if err != nil {
		return ""
	}
	best, least := "", max(1, len(path)/4)
	for _, s := range series {
		if d := distance(strings.TrimSuffix(path, ".rrd"), strings.TrimSuffix(s.GetPath(), ".rrd"), least); d <= least && (best == "" || d < least) {
			best, least = s.GetPath(), d
		}
	}
	return best
}

// distance returns how many bytes must be changed, inserted or removed to turn a into b
// (Levenshtein's distance), or limit + 1 if it is more than limit.
func distance(a, b string, limit int) int {
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

func (p *picker) page(ctx context.Context, req *rondov1.ListRequest) ([]*rondov1.Series, error) {
	series, _, err := p.pageAndNext(ctx, req)
	return series, err
}

// pageAndNext returns a page of series, and the name of the next page; empty: it was the last.
func (p *picker) pageAndNext(ctx context.Context, req *rondov1.ListRequest) ([]*rondov1.Series, string, error) {
	answer, err := p.api.List(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, "", err
	}
	return answer.Msg.GetSeries(), answer.Msg.GetNextPage(), nil
}

// info returns the series of a path.
func (p *picker) info(ctx context.Context, path string) (*rondov1.InfoResponse, error) {
	answer, err := p.api.Info(ctx, connect.NewRequest(&rondov1.InfoRequest{Path: path}))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// folderOf returns the prefix of all paths below a path.
func folderOf(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, "/") + "/"
}

// below returns the paths of all series below a path, and of the series of the path itself.
func (p *picker) below(ctx context.Context, path string) ([]string, error) {
	var paths []string
	if path != "" {
		answer, err := p.api.Info(ctx, connect.NewRequest(&rondov1.InfoRequest{Path: path}))
		if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
			return nil, err
		}
		if err == nil {
			paths = append(paths, answer.Msg.GetSeries().GetPath())
		}
	}
	more, err := p.all(ctx, &rondov1.ListRequest{Prefix: folderOf(path), Brief: true})
	return append(paths, more...), err
}

// labelled returns the paths of the series that have all of the labels.
func (p *picker) labelled(ctx context.Context) ([]string, error) {
	req := &rondov1.ListRequest{Brief: true}
	for _, text := range p.labels {
		m, err := parseMatcher(text)
		if err != nil {
			return nil, err
		}
		req.Matchers = append(req.Matchers, m)
	}
	return p.all(ctx, req)
}

// all returns the paths of all pages of a list.
func (p *picker) all(ctx context.Context, req *rondov1.ListRequest) ([]string, error) {
	var paths []string
	for {
		answer, err := p.api.List(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		for _, s := range answer.Msg.GetSeries() {
			paths = append(paths, s.GetPath())
		}
		if req.Page = answer.Msg.GetNextPage(); req.Page == "" {
			return paths, nil
		}
	}
}

// parseMatcher reads a label that series must have.
func parseMatcher(text string) (*typesv1.Matcher, error) {
	i := strings.IndexAny(text, "=!")
	if i < 1 {
		return nil, fmt.Errorf("--label %s: want name=value, name!=value, name=~pattern or name!~pattern", quoted(text))
	}
	for _, op := range []string{"=~", "!~", "!=", "="} {
		if value, ok := strings.CutPrefix(text[i:], op); ok {
			return &typesv1.Matcher{Name: text[:i], Op: op, Value: value}, nil
		}
	}
	return nil, fmt.Errorf("--label %s: want name=value, name!=value, name=~pattern or name!~pattern", quoted(text))
}

// quoted returns a name in quotes, for messages.
func quoted(name string) string { return "'" + oneLine(name) + "'" }

// withoutPrefix returns the error in a server's answer without the text that the protocol adds.
func withoutPrefix(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code() == connect.CodeNotFound {
		return fmt.Errorf("%s: %w", e.Message(), core.ErrNotFound)
	}
	return errors.New(e.Message())
}
