// Gen writes the Go code of rondo.proto, and of query/peer's peer.proto. It stands in for protoc:
// protocompile parses the files. The two generators are pinned as tools in this folder's go.mod, and
// run as protoc would run them.
// The module is its own, so that nothing of this reaches the go.mod of those who use rondo.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// A service is a file and the folder in which it stands, as an import path as well.
type service struct{ dir, source, module string }

var services = []service{
	{"..", "rondo.proto", "github.com/rondo-db/rondo/query/rpc"},
	{"../../peer", "peer.proto", "github.com/rondo-db/rondo/query/peer"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	for _, s := range services {
		file, err := s.compile()
		if err != nil {
			log.Fatal(err)
		}
		for plugin, parameter := range map[string]string{
			"protoc-gen-go":         "module=" + s.module,
			"protoc-gen-connect-go": "package_suffix=,module=" + s.module,
		} {
			if err := s.run(plugin, parameter, file); err != nil {
				log.Fatalf("%s: %v", plugin, err)
			}
		}
	}
}

func (s service) compile() (*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{s.dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(context.Background(), s.source)
	if err != nil {
		return nil, err
	}
	return protodesc.ToFileDescriptorProto(protoreflect.FileDescriptor(files[0])), nil
}

func (s service) run(plugin, parameter string, file *descriptorpb.FileDescriptorProto) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{s.source},
		Parameter:      &parameter,
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin = bytes.NewReader(request)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.GetFile() {
		name := filepath.Join(s.dir, filepath.FromSlash(f.GetName()))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(f.GetContent()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
