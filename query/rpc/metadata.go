package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Metadata returns one page of what is known of paths beside their numbers.
func (s *Server) Metadata(context.Context, *connect.Request[rondov1.MetadataRequest]) (*connect.Response[rondov1.MetadataResponse], error) {
	return nil, connect.NewError(connect.CodeUnimplemented, errors.New("not yet"))
}
