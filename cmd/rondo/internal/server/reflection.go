package server

import (
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// mountReflection lets clients such as grpcurl ask for the services Rondo and Cluster. gRPC's
// health check is not in the answers: its messages would clash with the messages of a program that
// links gRPC.
func mountReflection(mux *middleware.Routes) {
	r := grpcreflect.NewStaticReflector(rondov1.RondoName, rondov1.ClusterName)
	limit := connect.WithReadMaxBytes(maxReflection)
	for _, mount := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){
		grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha,
	} {
		path, h := mount(r, limit)
		mux.Handle(path+"ServerReflectionInfo", h)
	}
}

// maxReflection bounds one question of a client, in bytes.
const maxReflection = 4 << 10
