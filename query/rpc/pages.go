package rpc

import (
	"context"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/dashboards"
)

// Pages are saved dashboards: a *dashboards.Folder, or a cluster's pages. Methods return the errors
// of a Folder; an error that wraps core.ErrUnavailable says that another attempt may succeed.
type Pages interface {
	ListFor(u *access.User) ([]dashboards.Entry, error)
	ReadFor(u *access.User, name string) (text string, p *dashboards.Page, err error)
	Save(ctx context.Context, name, text string) error
	Drop(ctx context.Context, name string) error
}
