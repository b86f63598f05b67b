package rrdtool

import (
	"bytes"

	"github.com/rondo-db/rondo/query/graphdata"
)

// daemonOptions are the options of the verbs that take a daemon's address.
var daemonOptions = map[string][]option{
	"create": createOptions, "update": updateOptions, "fetch": fetchOptions, "first": firstOptions, "last": lastOptions,
	"lastupdate": lastOptions, "info": infoOptions, "list": listOptions, "dump": dumpOptions, "tune": tuneOptions,
	"flushcached": flushcachedOptions, "xport": xportOptions,
}

// Daemon takes the option --daemon out of the arguments of a verb. takes says whether the verb has
// it; arguments that are wrong stay as they are, and the verb says what is.
func Daemon(args []string) (addr string, rest []string, takes bool) {
	if len(args) == 0 {
		return "", args, false
	}
	known, takes := daemonOptions[args[0]]
	if !takes {
		return "", args, false
	}
	rest = []string{args[0]}
	given := false
	others, err := parse(args[1:], known, func(name, arg string) error {
		if name == "daemon" {
			addr, given = arg, true
			return nil
		}
		rest = append(rest, "--"+name)
		for _, k := range known {
			if k.long == name && k.arg {
				rest = append(rest, arg)
			}
		}
		return nil
	})
	if err != nil || !given {
		return "", args, true
	}
	return addr, append(append(rest, "--"), others...), true
}

// tables are the options of rrdtool's verbs.
var tables = map[string][]option{
	"create": createOptions, "update": updateOptions, "updatev": updatevOptions, "dump": dumpOptions, "restore": restoreOptions,
	"last": lastOptions, "lastupdate": lastOptions, "first": firstOptions, "info": infoOptions, "list": listOptions, "fetch": fetchOptions,
	"tune": tuneOptions, "xport": xportOptions, "flushcached": flushcachedOptions,
}

// OptionsOf returns the long names of the options that a verb of rrdtool has.
func OptionsOf(verb string) []string {
	var names []string
	for _, o := range tables[verb] {
		names = append(names, o.long)
	}
	return names
}

// OptionsIn returns the long names of the options that the arguments of a verb use, as they are
// read: those before a mistake.
func OptionsIn(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	var names []string
	// What is behind a mistake is not read.
	_, _ = parse(args[1:], tables[args[0]], func(name, _ string) error {
		names = append(names, name)
		return nil
	})
	return names
}

// Positional returns the arguments of a verb that are no options. Owed says that the last one is an
// option whose own argument is still to come.
func Positional(verb string, args []string) (rest []string, owed bool) {
	o := options{known: tables[verb], args: args}
	for {
		name, _, err := o.next()
		switch {
		case o.lacks != "":
			return o.rest, true
		case err == nil && name == "":
			return o.rest, false
		}
	}
}

// The options of verbs that read a series or a native file, of those that change a series, and of
// those that make one.
var (
	reading = map[string][]option{
		"info": infoOptions, "fetch": fetchOptions, "dump": dumpOptions, "first": firstOptions, "last": lastOptions, "lastupdate": lastOptions,
	}
	changing = map[string][]option{
		"update": updateOptions, "updatev": updatevOptions, "resize": nil, "tune": tuneOptions, "alter": alterOptions,
	}
	making = map[string][]option{"create": createOptions, "restore": restoreOptions}
)

// operands returns what a verb of known is given beside options; nothing if it is no such verb, or
// its options are wrong.
func operands(args []string, known map[string][]option) []string {
	if len(args) == 0 {
		return nil
	}
	options, ok := known[args[0]]
	if !ok {
		return nil
	}
	rest, err := parse(args[1:], options, func(string, string) error { return nil })
	if err != nil {
		return nil
	}
	return rest
}

// firstName returns the first of the operands; the empty string if there is none.
func firstName(args []string, known map[string][]option) string {
	if rest := operands(args, known); len(rest) > 0 {
		return rest[0]
	}
	return ""
}

// Changes returns the name of the series that a verb changes, if it is one that makes a series of a
// native file of that name; the empty string if it is no such verb, or its options are wrong.
func Changes(args []string) string { return firstName(args, changing) }

// Reads returns the name of what a verb that also reads native files is to read; the empty string
// if it is no such verb, or its options are wrong.
func Reads(args []string) string { return firstName(args, reading) }

// Makes returns the name of the series that create or restore is to make; the empty string if it is
// another verb, or its options are wrong.
func Makes(args []string) string {
	rest := operands(args, making)
	switch {
	case len(rest) == 2 && args[0] == "restore":
		return rest[1]
	case len(rest) > 0 && args[0] == "create":
		return rest[0]
	}
	return ""
}

// Split takes the file out of the arguments of dump and restore, for those who have the verb run
// elsewhere: what dump prints is to be written to the file out, and restore is to have the file in
// as its standard input. Arguments of other verbs, and those that are wrong, stay as they are.
func Split(args []string) (remote []string, in, out string) {
	if len(args) == 0 {
		return args, "", ""
	}
	remote = args[:1:1]
	var known []option
	switch args[0] {
	case "dump":
		known = dumpOptions
	case "restore":
		known = restoreOptions
	default:
		return args, "", ""
	}
	rest, err := parse(args[1:], known, func(name, arg string) error {
		remote = append(remote, "--"+name)
		if arg != "" || name == "header" || name == "daemon" {
			remote = append(remote, arg)
		}
		return nil
	})
	if err != nil || len(rest) != 2 {
		return args, "", ""
	}
	if args[0] == "dump" {
		return append(remote, "--", rest[0]), "", rest[1]
	}
	return append(remote, "--", "-", rest[1]), rest[0], ""
}

// FileNames returns the names in a line of [Pipe], or of [Frames], that a verb may take for files
// of whoever asks.
func FileNames(line []byte, frames bool) []string {
	if bytes.HasPrefix(line, updateWord) { // nearly every line
		return nil
	}
	args, ok := words(nil, bytes.TrimSpace(line))
	if frames {
		args, ok = escapedWords(nil, bytes.TrimRight(line, "\r\n"))
	}
	if !ok {
		return nil
	}
	_, in, out := Split(args)
	var names []string
	for _, name := range append(XportReads(args), in, out, Reads(args)) {
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// XportReads returns the names of the series, or of native files, that an xport is about; none of
// other verbs. Lines from the first mistake on do not count.
func XportReads(args []string) []string {
	if len(args) == 0 || args[0] != "xport" {
		return nil
	}
	lines, err := parse(args[1:], xportOptions, func(string, string) error { return nil })
	if err != nil {
		return nil
	}
	program := graphdata.New(graphdata.Options{})
	for _, line := range lines {
		if program.Add(line) != nil {
			break
		}
	}
	return program.Files()
}
