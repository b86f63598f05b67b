package rpc

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/hosts"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/search"
)

// How many hits a Search gives, and how many nodes a Tree, if the request does not say.
const (
	defaultHits  = 20
	defaultNodes = 100
)

// names returns the index of the store's names. It is made at the first call.
func (s *Server) names() *search.Index {
	s.indexOnce.Do(func() {
		if s.Index == nil {
			s.Index = search.New(s.Store)
		}
		s.board = &hosts.Board{Store: s.Store, Index: s.Index}
	})
	return s.Index
}

// Search finds series and folders by words.
func (s *Server) Search(ctx context.Context, req *rondov1.SearchRequest) (*rondov1.SearchResponse, error) {
	limit, err := pageSize(req.GetLimit(), defaultHits, search.MaxHits)
	if err != nil {
		return nil, err
	}
	hits, found, err := s.names().Search(ctx, req.GetText(), limit, access.From(ctx).Folders)
	if err != nil {
		return nil, coded(err)
	}
	charge := chargeFor(ctx)
	answer := &rondov1.SearchResponse{More: found > len(hits), Found: int64(found)}
	for _, h := range hits {
		x, err := s.hit(h)
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		if err := charge.texts(proto.Size(x)); err != nil {
			return nil, err
		}
		answer.Hits = append(answer.Hits, x)
	}
	return answer, nil
}

// hit describes a hit. It returns nil if the series was dropped meanwhile.
func (s *Server) hit(h search.Hit) (*rondov1.SearchHit, error) {
	x := &rondov1.SearchHit{Path: h.Path, Folder: h.Folder}
	if h.Folder {
		return x, nil
	}
	ref, err := s.Store.Lookup(h.Path)
	if err == nil {
		var e core.Series
		if e, err = core.SeriesOf(context.Background(), s.Store, ref); err == nil {
			x.Labels = seriesOf(e, true).GetLabels()
		}
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil, nil
	case err != nil && !errors.Is(err, core.ErrDamaged):
		return nil, coded(err)
	}
	m, err := core.MetadataOf(context.Background(), s.Store, h.Path)
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return nil, coded(err)
	}
	x.Unit = core.LabelValue(m.Attributes, "units")
	x.Description = cmp.Or(core.LabelValue(m.Attributes, "description"), core.LabelValue(m.Attributes, "title"))
	return x, nil
}

// Tree returns one level of the tree of paths.
func (s *Server) Tree(ctx context.Context, m *rondov1.TreeRequest) (*rondov1.TreeResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultNodes, search.MaxNodes)
	if err != nil {
		return nil, err
	}
	level, err := s.names().Level(ctx, m.GetPrefix(), limit, m.GetPage(), access.From(ctx).Folders)
	if err != nil {
		return nil, coded(err)
	}
	charge := chargeFor(ctx)
	answer := &rondov1.TreeResponse{NextPage: level.Next, Total: int64(level.Total)}
	for i := range level.Nodes {
		x := nodeOf(&level.Nodes[i])
		if err := charge.texts(proto.Size(x)); err != nil {
			return nil, err
		}
		answer.Nodes = append(answer.Nodes, x)
	}
	return answer, nil
}

func nodeOf(n *search.Node) *rondov1.TreeNode {
	x := &rondov1.TreeNode{
		Path: n.Path, Name: n.Name, Series: n.Series, IsSeries: n.IsSeries, IsFolder: n.IsFolder,
		SparkPath: n.Spark.Path, SparkDs: n.Spark.DS, SparkTitle: n.Spark.Title, SparkCf: n.Spark.CF,
		Unit: n.Spark.Unit, SparkFactor: n.Spark.Factor, SparkOffset: n.Spark.Offset,
	}
	if !n.Last.IsZero() {
		x.LastUpdateUs = n.Last.UnixMicro()
	}
	return x
}
