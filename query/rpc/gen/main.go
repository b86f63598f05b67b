// Gen writes the Go code of rondo.proto and of rondo_types.proto, which it imports. It stands in for
// protoc: protocompile parses the files. The two generators are pinned as tools in this folder's
// go.mod, and run as protoc would run them. The module is its own, so that nothing of this reaches
// the go.mod of those who use rondo.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

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
	{"../types", "rondo_types.proto", "github.com/rondo-db/rondo/query/rpc/types"},
	{"..", "rondo.proto", "github.com/rondo-db/rondo/query/rpc"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	for _, s := range services {
		files, err := s.compile()
		if err != nil {
			log.Fatal(err)
		}
		for plugin, parameter := range map[string]string{
			"protoc-gen-go":         "module=" + s.module,
			"protoc-gen-connect-go": "package_suffix=,simple,module=" + s.module,
		} {
			if err := s.run(plugin, parameter, files); err != nil {
				log.Fatalf("%s: %v", plugin, err)
			}
		}
	}
}

// compile returns the file of a service behind the files that it imports.
func (s service) compile() ([]*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{s.dir, services[0].dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(context.Background(), s.source)
	if err != nil {
		return nil, err
	}
	var all []*descriptorpb.FileDescriptorProto
	for i := range files[0].Imports().Len() {
		all = append(all, protodesc.ToFileDescriptorProto(files[0].Imports().Get(i)))
	}
	return append(all, protodesc.ToFileDescriptorProto(protoreflect.FileDescriptor(files[0]))), nil
}

func (s service) run(plugin, parameter string, files []*descriptorpb.FileDescriptorProto) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{s.source},
		Parameter:      &parameter,
		ProtoFile:      files,
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
		if err := os.WriteFile(name, []byte(shared(f.GetContent(), files[len(files)-1])), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// oneClient finds the client of a method in what protoc-gen-connect-go wrote, and oneCall its call.
var (
	oneClient = regexp.MustCompile(`connect\.NewClient\[([\w.]+, [\w.]+)\](\(\s+httpClient,\s+baseURL\+(\w+)Procedure)`)
	oneCall   = regexp.MustCompile(`response, err := (c\.\w+\.CallUnary\(ctx, )connect\.NewRequest\(req\)\)\n[^}]*}\n\s*return nil, err`)
)

// shared puts package wire in place of connect where a method has one request and one answer, and
// adds an interface of these methods, which clients and handlers have in the same form.
func shared(content string, file *descriptorpb.FileDescriptorProto) string {
	unary := map[string]bool{}
	for _, s := range file.GetService() {
		var calls strings.Builder
		for _, m := range s.GetMethod() {
			if unary[s.GetName()+m.GetName()] = !m.GetClientStreaming() && !m.GetServerStreaming(); unary[s.GetName()+m.GetName()] {
				name := func(of string) string { return of[strings.LastIndexByte(of, '.')+1:] }
				fmt.Fprintf(&calls, "\t%s(context.Context, *%s) (*%s, error)\n",
					m.GetName(), name(m.GetInputType()), name(m.GetOutputType()))
			}
		}
		if strings.Contains(content, "type "+s.GetName()+"Client interface") {
			content += fmt.Sprintf("\n// %[1]sCalls has the methods of %[1]s with one request and one answer.\ntype %[1]sCalls interface {\n%[2]s}\n", s.GetName(), &calls)
		}
	}
	for _, found := range oneClient.FindAllStringSubmatch(content, -1) {
		if types := found[1]; unary[found[3]] {
			content = strings.Replace(content, found[0], "wire.NewClient["+types+"]"+found[2], 1)
			content = strings.Replace(content, "*connect.Client["+types+"]", "*wire.Client["+clientTypes(types)+"]", 1)
		}
	}
	content = oneCall.ReplaceAllString(content, "return ${1}req)")
	content = strings.ReplaceAll(content, "connect.NewUnaryHandlerSimple(", "wire.NewUnaryHandler(")
	return strings.Replace(content, "\thttp \"net/http\"\n", "\twire \"github.com/rondo-db/rondo/query/rpc/wire\"\n\thttp \"net/http\"\n", 1)
}

// clientTypes returns the types of a client of package wire: the messages and pointers to them.
func clientTypes(types string) string { return types + ", *" + strings.ReplaceAll(types, ", ", ", *") }
