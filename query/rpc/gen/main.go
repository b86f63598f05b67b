// Gen writes the Go code of rondo.proto. It stands in for protoc: protocompile parses the file, and
// the two generators, pinned as tools in this folder's go.mod, are run as protoc would run them.
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

const (
	dir    = ".."
	source = "rondo.proto"
	module = "github.com/rondo-db/rondo/query/rpc"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	file, err := compile()
	if err != nil {
		log.Fatal(err)
	}
	for plugin, parameter := range map[string]string{
		"protoc-gen-go":         "module=" + module,
		"protoc-gen-connect-go": "package_suffix=,module=" + module,
	} {
		if err := run(plugin, parameter, file); err != nil {
			log.Fatalf("%s: %v", plugin, err)
		}
	}
}

func compile() (*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(context.Background(), source)
	if err != nil {
		return nil, err
	}
	return protodesc.ToFileDescriptorProto(protoreflect.FileDescriptor(files[0])), nil
}

func run(plugin, parameter string, file *descriptorpb.FileDescriptorProto) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{source},
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
		name := filepath.Join(dir, filepath.FromSlash(f.GetName()))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(f.GetContent()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
