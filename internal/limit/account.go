package limit

import (
	"context"
	"errors"
	"fmt"
)

// ErrMemory says that a request would hold more memory than is left for it.
var ErrMemory = errors.New("too much memory is held for requests and answers under way: ask for less at once, or later")

// An Account counts the bytes that one request holds of a Limit. Its methods are for one goroutine.
// A nil Account has no bound: its methods do nothing.
type Account struct {
	limit  *Limit
	client string
	held   int64
}

// Open returns an account of a client that holds nothing yet.
func (l *Limit) Open(client string) *Account { return &Account{limit: l, client: client} }

// Charge adds n bytes to the account. If they are not free, it adds nothing and returns an error
// that wraps [ErrMemory].
func (a *Account) Charge(n int64) error {
	if a == nil || n <= 0 {
		return nil
	}
	if !a.limit.Take(a.client, n) {
		return fmt.Errorf("%d bytes: %w", a.held+n, ErrMemory)
	}
	a.held += n
	return nil
}

// Close gives the account's bytes back. It may be called again, and the account used again.
func (a *Account) Close() {
	if a == nil || a.held == 0 {
		return
	}
	a.limit.Give(a.client, a.held)
	a.held = 0
}

// Another returns an account of the same client that is closed by itself. It is nil if a is.
func (a *Account) Another() *Account {
	if a == nil {
		return nil
	}
	return a.limit.Open(a.client)
}

type accountKey struct{}

// With returns ctx with the account to which what a request holds is charged.
func With(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// Of returns the account in ctx; nil if there is none.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}
