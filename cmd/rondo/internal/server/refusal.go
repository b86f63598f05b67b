package server

import (
	"net/http"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/limit"
)

// A refusal is the reason why a request was refused.
type refusal int

const (
	refusedHost   refusal = iota // the Host or the Origin is foreign
	refusedPlace                 // no place became free in time
	refusedSlow                  // the body did not arrive in time
	refusedMemory                // requests or answers occupy too much memory
	refusedLong                  // the body is too long
	refusedUser                  // no credentials, or wrong ones
	refusedRole                  // the user may not do this
	refusedTries                 // too many credentials are being checked
	refusals
)

func (r refusal) String() string {
	return [...]string{"host", "place", "slow", "memory", "long", "user", "role", "tries"}[r]
}

// refusalTexts are the answers to refused requests.
var refusalTexts = [refusals]struct {
	code int
	rpc  connect.Code
	text string
}{
	refusedPlace:  {http.StatusServiceUnavailable, connect.CodeUnavailable, "rondo has too many requests under way"},
	refusedSlow:   {http.StatusRequestTimeout, connect.CodeDeadlineExceeded, errBodySlow.Error()},
	refusedMemory: {http.StatusServiceUnavailable, connect.CodeResourceExhausted, limit.ErrMemory.Error()},
	refusedLong:   {http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, errBodyLong.Error()},
	refusedUser:   {http.StatusUnauthorized, connect.CodeUnauthenticated, "say who you are"},
	refusedRole:   {http.StatusForbidden, connect.CodePermissionDenied, "permission denied"},
	refusedTries:  {http.StatusTooManyRequests, connect.CodeResourceExhausted, "too many credentials are being checked"},
}

// A refusedError says why nobody was identified.
type refusedError struct {
	why  refusal
	text string
}

func (e *refusedError) Error() string { return e.text }
