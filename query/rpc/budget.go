package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"
)

// A Budget bounds the bytes that requests or answers hold in memory while their clients send or
// read them.
type Budget struct {
	total, share int64

	mu      sync.Mutex // guards used and clients
	used    int64
	clients map[string]int64 // bytes of each client that holds some
}

// ErrBudget says that a request would hold more memory than is left for it.
var ErrBudget = errors.New("too much memory is held for requests and answers under way: ask for less at once, or later")

// NewBudget returns a budget of total bytes, of which one client may have share.
func NewBudget(total, share int64) *Budget {
	return &Budget{total: total, share: share, clients: make(map[string]int64)}
}

// Used returns how many bytes are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Open returns the account of one request of a client.
func (b *Budget) Open(client string) *Account { return &Account{budget: b, client: client} }

// An Account is what one request holds of a Budget. Its methods are for one goroutine; on a nil
// Account they do nothing, which is how a request without a bound behaves.
type Account struct {
	budget *Budget
	client string
	held   int64
}

// Charge adds n bytes to what the request holds, or returns ErrBudget and adds nothing.
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

// Close gives back what the request holds. It may be called again.
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

type accountKey struct{}

// WithAccount returns ctx with the account that the answer of a request is charged to.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// An answering charges an answer to the account of its request while the answer is put together.
type answering struct {
	account *Account
	json    bool
	due     int64 // bytes that have not been charged yet
}

// chargeBytes is how many bytes are charged at once: a lock is taken for each charge.
const chargeBytes = 64 << 10

// answer returns what charges the answer to req.
func answer(ctx context.Context, req connect.AnyRequest) answering {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return answering{account: a, json: req.HTTPMethod() == http.MethodGet || strings.Contains(req.Header().Get("Content-Type"), "json")}
}

// doubles charges n doubles. Each is held as a number and as it is sent: 8 bytes, or up to 24
// characters in a buffer that grows by doubling.
func (a *answering) doubles(n int64) error {
	if a.json {
		return a.bytes(n * (8 + 32))
	}
	return a.bytes(n * (8 + 8))
}

// texts charges n bytes of text in one message. They are held as they are and as they are sent.
func (a *answering) texts(n int) error {
	const message = 128 // bytes of a message and its fields
	return a.bytes(int64(message + 3*n))
}

func (a *answering) bytes(n int64) error {
	if a.due += n; a.due < chargeBytes {
		return nil
	}
	n, a.due = a.due, 0
	if err := a.account.Charge(n); err != nil {
		return fail(err, "answer")
	}
	return nil
}
