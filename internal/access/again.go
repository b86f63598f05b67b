package access

import (
	"context"
	"fmt"
	"reflect"
)

type askKey struct{}

// WithAsk returns a context whose user can be asked for anew; see [Again].
func WithAsk(ctx context.Context, ask func() (*User, error)) context.Context {
	return context.WithValue(ctx, askKey{}, ask)
}

// Again asks anew who the user of a context is. The error says that it is nobody any more, or wraps
// [ErrDenied] because the user's name or rights have changed. It is nil if nobody can be asked.
func Again(ctx context.Context) error {
	ask, ok := ctx.Value(askKey{}).(func() (*User, error))
	if !ok {
		return nil
	}
	was := From(ctx)
	is, err := ask()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	if !reflect.DeepEqual(was, is) {
		return fmt.Errorf("%w: what %s may do has changed: begin again", ErrDenied, was)
	}
	return nil
}
