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
	Code   string // "ok", "not_found", or "unread" for a request that was no message of the method
}

// Counts returns how many calls there were of each kind.
func (c *Calls) Counts() map[Call]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[Call]uint64, len(c.counts))
	maps.Copy(out, c.counts)
	return out
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

// answeredKey marks, in the context of a request, where the call's interceptor notes that it was
// reached.
type answeredKey struct{}

// count has h counted: by code where the request was a message of a method, as unread where it was
// not.
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

// intercept counts the calls that reach their method.
func (c *Calls) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, req)
		if answered, ok := ctx.Value(answeredKey{}).(*bool); ok {
			*answered = true
		}
		code := "ok"
		if err != nil {
			code = connect.CodeOf(err).String()
		}
		procedure := req.Spec().Procedure
		c.add(Call{procedure[strings.LastIndexByte(procedure, '/')+1:], code})
		return answer, err
	}
}
