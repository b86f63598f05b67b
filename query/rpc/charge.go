package rpc

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
)

// An answerCharge charges an answer to the account of its request while the answer is put together.
type answerCharge struct {
	account *limit.Account
	json    bool
	due     int64 // bytes that have not been charged yet
}

// chargeBytes is how many bytes are collected before they are charged, because each charge takes
// the lock of the limit.
const chargeBytes = 64 << 10

// chargeFor returns what charges the answer of the call in ctx to the account there.
func chargeFor(ctx context.Context) answerCharge {
	c := answerCharge{account: limit.Of(ctx)}
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		c.json = call.HTTPMethod() == http.MethodGet || strings.Contains(call.RequestHeader().Get("Content-Type"), "json")
	}
	return c
}

// callerOf returns the address of the client whose call is in ctx, or "".
func callerOf(ctx context.Context) string {
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		return call.Peer().Addr
	}
	return ""
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
