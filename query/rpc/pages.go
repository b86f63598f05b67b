package rpc

import (
	"context"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/dashboards"
)

// Pages are saved dashboards: a *dashboards.Folder, or those of a cluster. Errors are those of a
// Folder; one that wraps core.ErrUnavailable says that another attempt may succeed.
type Pages interface {
	ListFor(u *access.User) ([]dashboards.Entry, error)
	ReadFor(u *access.User, name string) (text string, p *dashboards.Page, err error)
	Save(ctx context.Context, name, text string) error
	Drop(ctx context.Context, name string) error
}
