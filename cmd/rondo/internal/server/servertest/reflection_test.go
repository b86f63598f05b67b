package servertest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestReflection: grpcurl and its like needed a copy of rondo.proto. They ask question after
// question on one stream, which must not keep the server from its end.
func TestReflection(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	defer tr.CloseIdleConnections()
	s := grpcreflect.NewClient(&http.Client{Transport: tr}, r.url("")).NewStream(t.Context())
	names, err := s.ListServices()
	if err != nil || len(names) != 2 || !slices.Contains(names, protoreflect.FullName(rondov1.RondoName)) || !slices.Contains(names, protoreflect.FullName(rondov1.ClusterName)) {
		t.Fatalf("%v, %v", names, err)
	}
	files, err := s.FileContainingSymbol(rondov1.RondoName)
	if err != nil || len(files) != 2 || files[0].GetName() != "rondo.proto" || files[1].GetName() != "rondo_types.proto" {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var methods []string
	for _, m := range files[0].GetService()[0].GetMethod() {
		methods = append(methods, "/"+rondov1.RondoName+"/"+m.GetName())
	}
	if !slices.Equal(methods, rpc.Procedures()) {
		t.Errorf("methods %v", methods)
	}
	if files, err := s.FileByFilename("rondo_types.proto"); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, unknown := range []protoreflect.FullName{"rondo.v1.Nothing", "google.protobuf.FileDescriptorProto"} {
		if files, err := s.FileContainingSymbol(unknown); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: %d files, %v", unknown, len(files), err)
		}
	}
	if err := r.stop(); err != nil { // the stream is still open, and the grace is long
		t.Error(err)
	}
	if strings.Contains(r.log.String(), "cut off") {
		t.Errorf("the open stream was waited for:\n%s", r.log)
	}
}
