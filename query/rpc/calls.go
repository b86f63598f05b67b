package rpc

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Calls counts the calls of a [Server] by method and code. The zero value is ready for use.
type Calls struct {
	mu     sync.Mutex // guards counts
	counts map[Call]uint64
}

// A Call is what calls are counted by.
type Call struct {
	Method string // "Fetch"
	Code   string // "ok", "not_found" and so on; "unread" if the request did not decode
}

// Counts returns the number of calls by method and code.
func (c *Calls) Counts() map[Call]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

func (c *Calls) add(k Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[Call]uint64)
	}
	c.counts[k]++
}

// Procedures returns the paths of all methods of the service Rondo.
func Procedures() (paths []string) {
	service := rondov1.File_rondo_proto.Services().ByName("Rondo")
	for i := range service.Methods().Len() {
		paths = append(paths, "/"+string(service.FullName())+"/"+string(service.Methods().Get(i).Name()))
	}
	return paths
}

// answeredKey is the key of a *bool in the context of a request. The interceptor sets it when the
// call reaches its method.
type answeredKey struct{}

// count returns a handler that counts the calls of h. The interceptor counts a call that reaches
// its method, by code; count itself counts a call that does not, as unread.
func (c *Calls) count(h http.Handler) http.Handler {
	methods := make(map[string]string)
	for _, p := range Procedures() {
		methods[p] = p[strings.LastIndexByte(p, '/')+1:]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answered bool
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), answeredKey{}, &answered)))
		if method := methods[r.URL.Path]; method != "" && !answered {
			c.add(Call{method, "unread"})
		}
	})
}

// A callCounter is an interceptor that counts the calls that reach their method.
type callCounter struct{ *Calls }

func (c callCounter) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, req)
		c.ended(ctx, req.Spec(), err)
		return answer, err
	}
}

func (callCounter) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (c callCounter) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		c.ended(ctx, conn.Spec(), err)
		return err
	}
}

func (c callCounter) ended(ctx context.Context, spec connect.Spec, err error) {
	if answered, ok := ctx.Value(answeredKey{}).(*bool); ok {
		*answered = true
	}
	code := "ok"
	if err != nil {
		code = connect.CodeOf(err).String()
	}
	c.add(Call{spec.Procedure[strings.LastIndexByte(spec.Procedure, '/')+1:], code})
}
