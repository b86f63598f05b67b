// Package config combines the settings of the server from flags, environment and a YAML file. A
// flag takes precedence over the environment, and the environment over the file.
//
// Every setting is a flag. The flag collectd-auth-file is also the variable
// RONDO_COLLECTD_AUTH_FILE, and in the file the key collectd-auth-file, or the key auth-file below
// collectd:
//
//	http: 127.0.0.1:9180
//	collectd:
//	  addr: 127.0.0.1:25826     # the flag --collectd
//	  auth-file: /etc/rondo/passwd
//	rrdcached: ["127.0.0.1:42217", "unix:/run/rrdcached.sock"]
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/internal/conffile"
)

// maxFile bounds the configuration file, in bytes.
const maxFile = 1 << 20

// own is the key for the flag of the mapping itself: collectd: {addr: …} is --collectd.
const own = "addr"

// A Section reads a key of the file that is not a flag, such as a list of rules. If its error knows
// the line of the mistake, it has a method Line.
type Section struct {
	Key   string
	Parse func(*yaml.Node) error
}

// Apply sets each flag that the command line has not set, from the environment, or else from the
// YAML file; an empty name means no file. It returns the names of the flags that are set by command
// line, environment or file.
func Apply(flags *pflag.FlagSet, getenv func(string) (string, bool), file string, sections ...Section) (map[string]bool, error) {
	named := make(map[string]bool)
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			named[f.Name] = true
			return
		}
		name := Variable(f.Name)
		v, ok := getenv(name)
		if !ok {
			return
		}
		if err := set(f, []string{v}); err != nil {
			errs = append(errs, fmt.Errorf("variable %s: %w", name, err))
		}
		named[f.Name] = true
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if file == "" {
		return named, nil
	}
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file, flags: flags, named: named, sections: sections, seen: make(map[string]bool)}
	if err := r.document(data); err != nil {
		return nil, err
	}
	for name := range r.seen {
		if flags.Lookup(name) != nil { // a flag, not a section
			named[name] = true
		}
	}
	return named, nil
}

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return "RONDO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func read(file string) ([]byte, error) {
	if file == os.DevNull { // a device, but an empty file for everybody
		return nil, nil
	}
	data, err := conffile.Read(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return data, nil
}

type reader struct {
	file     string
	flags    *pflag.FlagSet
	named    map[string]bool // flags set by command line or environment, which take precedence
	sections []Section
	seen     map[string]bool
}

func (r *reader) document(data []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil // an empty file
	case err != nil:
		return fmt.Errorf("%s: %w", r.file, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document", r.file)
	}
	return r.mapping("", doc.Content[0])
}

// mapping reads the keys of n. prefix is the name of the flag above the mapping, with a dash.
func (r *reader) mapping(prefix string, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "want keys and values")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := r.pair(prefix, n.Content[i], n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) pair(prefix string, key, value *yaml.Node) error {
	name := prefix + key.Value
	if prefix != "" && key.Value == own {
		name = strings.TrimSuffix(prefix, "-")
	}
	if prefix == "" {
		for _, s := range r.sections {
			if s.Key != name {
				continue
			}
			if r.seen[name] {
				return r.errorf(key, "key %q is there twice", name)
			}
			r.seen[name] = true
			err := s.Parse(value)
			var at interface{ Line() int }
			switch {
			case errors.As(err, &at):
				return r.errorf(&yaml.Node{Line: at.Line()}, "%s: %w", name, err)
			case err != nil:
				return r.errorf(value, "%s: %w", name, err)
			}
			return nil
		}
	}
	if value.Kind == yaml.MappingNode && prefix == "" && r.hasPrefix(name) {
		return r.mapping(name+"-", value)
	}
	f := r.flags.Lookup(name)
	if f == nil || f.Name == "help" || f.Name == "config" {
		return r.errorf(key, "unknown key %q", strings.TrimPrefix(name, prefix))
	}
	if r.seen[name] {
		return r.errorf(key, "key %q is there twice", name)
	}
	r.seen[name] = true
	values, err := r.scalars(name, value)
	if err != nil || r.named[name] {
		return err
	}
	if err := set(f, values); err != nil {
		return r.errorf(value, "%s: %w", name, err)
	}
	return nil
}

func (r *reader) hasPrefix(name string) (ok bool) {
	r.flags.VisitAll(func(f *pflag.Flag) {
		ok = ok || f.Name == name || strings.HasPrefix(f.Name, name+"-")
	})
	return ok
}

func (r *reader) scalars(name string, n *yaml.Node) ([]string, error) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	values := make([]string, 0, len(nodes))
	for _, v := range nodes {
		switch {
		case v.Kind != yaml.ScalarNode:
			return nil, r.errorf(v, "%s: want one value, or a list of values", name)
		case v.Tag == "!!null":
			values = append(values, "")
		default:
			values = append(values, v.Value)
		}
	}
	return values, nil
}

func (r *reader) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.file, n.Line, fmt.Errorf(format, args...))
}

// set gives f its values. It does not mark the flag as changed, which only the command line does,
// so that a second Apply after a change of the file starts from the beginning.
func set(f *pflag.Flag, values []string) error {
	if s, ok := f.Value.(pflag.SliceValue); ok {
		if len(values) == 1 {
			values = strings.FieldsFunc(values[0], func(c rune) bool { return c == ',' })
		}
		return s.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("want one value, not %d", len(values))
	}
	err := f.Value.Set(values[0])
	if why := Unread(err); why != "" {
		return fmt.Errorf("%q %s", values[0], why)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", values[0], err)
	}
	return nil
}

// Unread returns why a text could not be read as a number or a switch, as a replacement for the
// error of package strconv in err. It returns "" if err contains no such error.
func Unread(err error) string {
	number, ok := errors.AsType[*strconv.NumError](err)
	switch {
	case !ok:
		return ""
	case number.Func == "ParseBool":
		return "is neither true nor false"
	case errors.Is(number.Err, strconv.ErrRange):
		return "is out of range"
	}
	return "is no number"
}
