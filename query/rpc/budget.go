package rpc

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"
)

// A Budget bounds the memory that requests or answers occupy while clients send or read them. It
// counts bytes, all together and by client. Its methods may be called at the same time.
type Budget struct {
	total, share int64

	mu      sync.Mutex // guards used and clients; no other lock is taken under it
	used    int64
	clients map[string]int64 // bytes by client, without those that hold none
}

// NewBudget returns a budget of total bytes. One client may occupy share bytes at most.
func NewBudget(total, share int64) *Budget {
	return &Budget{total: total, share: share, clients: make(map[string]int64)}
}

// Used returns how many bytes are occupied.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Open returns the account of one request of a client.
func (b *Budget) Open(client string) *Account { return &Account{budget: b, client: client} }

// An Account counts the bytes that one request occupies of a Budget. Its methods are for one
// goroutine. A nil Account has no bound: its methods do nothing.
type Account struct {
	budget *Budget
	client string
	held   int64
}

// Charge adds n bytes to the account. If the budget lacks them, it adds nothing and returns an
// error that wraps [ErrBudget].
func (a *Account) Charge(n int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.total || b.clients[a.client]+n > b.share {
		return fmt.Errorf("%d bytes: %w", a.held+n, ErrBudget)
	}
	b.used += n
	b.clients[a.client] += n
	a.held += n
	return nil
}

// Close returns the account's bytes to the budget. It may be called again.
func (a *Account) Close() {
	if a == nil || a.held == 0 {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= a.held
	if b.clients[a.client] -= a.held; b.clients[a.client] == 0 {
		delete(b.clients, a.client)
	}
	a.held = 0
}

// Another returns an account of the same client that is closed by itself. It is nil if a is.
func (a *Account) Another() *Account {
	if a == nil {
		return nil
	}
	return a.budget.Open(a.client)
}

type accountKey struct{}

// WithAccount returns ctx with an account. The answer of a request in that context is charged to
// the account.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountOf returns the account in ctx; nil if there is none.
func AccountOf(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// An answerCharge charges an answer to the account of its request while the answer is put together.
type answerCharge struct {
	account *Account
	json    bool
	due     int64 // bytes that have not been charged yet
}

// chargeBytes is how many bytes are collected before they are charged, because each charge takes
// the lock of the budget.
const chargeBytes = 64 << 10

// chargeFor returns what charges the answer of req to the account in ctx.
func chargeFor(ctx context.Context, req connect.AnyRequest) answerCharge {
	return answerCharge{account: AccountOf(ctx), json: req.HTTPMethod() == http.MethodGet || strings.Contains(req.Header().Get("Content-Type"), "json")}
}

// doubles charges n doubles. Each is in memory twice, as a number and as it is sent. The latter
// takes 8 bytes, or up to 24 characters of JSON in a buffer that grows by doubling.
func (a *answerCharge) doubles(n int64) error {
	if a.json {
		return a.bytes(n * (8 + 32))
	}
	return a.bytes(n * (8 + 8))
}

// texts charges n bytes of text in one message. The text is in memory twice, as a string and as it
// is sent.
func (a *answerCharge) texts(n int) error {
	const message = 128 // bytes of a message and its fields
	return a.bytes(int64(message + 3*n))
}

func (a *answerCharge) bytes(n int64) error {
	if a.due += n; a.due < chargeBytes {
		return nil
	}
	n, a.due = a.due, 0
	if err := a.account.Charge(n); err != nil {
		return fail(err, "answer")
	}
	return nil
}
