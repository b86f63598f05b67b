package rrdtool

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/query/graphdata"
)

// Daemon takes the option --daemon out of a command. takes reports whether the verb has that
// option. The other arguments keep their words, because what graph prints depends on how its
// options are written. Wrong arguments are returned unchanged, for the verb to report.
func Daemon(args []string) (addr string, rest []string, takes bool) {
	if len(args) == 0 || !slices.Contains(OptionsOf(args[0]), "daemon") {
		return "", args, false
	}
	o := options{known: optionsOf(args[0]), args: args[1:]}
	rest = []string{args[0]}
	for {
		before, cluster := o.args, o.short
		name, arg, err := o.next()
		if err != nil {
			return "", args, true // the verb says what is wrong
		}
		words := before[:len(before)-len(o.args)]
		switch {
		case name != "daemon":
		case cluster != "": // -gd ADDRESS: the cluster stands in rest already
			last := &rest[len(rest)-1]
			*last = strings.TrimSuffix(*last, cluster)
			words = nil
		case words[len(words)-1] == arg:
			words = words[:len(words)-2]
		default: // -dADDRESS
			words = words[:len(words)-1]
		}
		if name == "daemon" {
			addr = arg
		}
		rest = append(rest, words...)
		if name == "" {
			return addr, rest, true
		}
	}
}

// optionsOf returns the options of a verb of rrdtool.
func optionsOf(name string) []option {
	if v := verbIn(verbs, name); v != nil {
		return v.options
	}
	return nil
}

// OptionsOf returns the long names of the options of a verb of rrdtool.
func OptionsOf(verb string) []string {
	var names []string
	for _, o := range optionsOf(verb) {
		names = append(names, o.long)
	}
	return names
}

// OptionsIn returns the long names of the options that a command uses, in order, up to the first
// mistake.
func OptionsIn(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	var names []string
	// The error is a mistake of the caller, which the verb reports.
	_, _ = parse(args[1:], optionsOf(args[0]), func(name, _ string) error {
		names = append(names, name)
		return nil
	})
	return names
}

// Positional returns the arguments of a verb that are not options. owed reports that the last word
// is an option whose argument is missing.
func Positional(verb string, args []string) (rest []string, owed bool) {
	o := options{known: optionsOf(verb), args: args}
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

// operands returns the arguments of a command that are not options. It returns nil if the verb is
// about something else, or if the options are wrong.
func operands(args []string, about subject) []string {
	if len(args) == 0 {
		return nil
	}
	v := (&command{Env: &Env{Rondo: true}}).find(args[0])
	if v == nil || v.about != about {
		return nil
	}
	rest, err := parse(args[1:], v.options, func(string, string) error { return nil })
	if err != nil {
		return nil
	}
	return rest
}

// firstName returns the first of the operands, or "".
func firstName(args []string, about subject) string {
	if rest := operands(args, about); len(rest) > 0 {
		return rest[0]
	}
	return ""
}

// Changes returns the name of the series that a command changes, for those verbs that first import
// a native file of that name. It returns "" for other verbs, and if the options are wrong.
func Changes(args []string) string { return firstName(args, changed) }

// Reads returns the name of the series or native file that a command reads, for those verbs that
// read either. It returns "" for other verbs, and if the options are wrong.
func Reads(args []string) string { return firstName(args, readName) }

// Makes returns the name of the series that create or restore makes. It returns "" for other verbs,
// and if the options are wrong.
func Makes(args []string) string {
	rest := operands(args, madeName)
	switch {
	case len(rest) == 2 && args[0] == "restore":
		return rest[1]
	case len(rest) > 0 && args[0] == "create":
		return rest[0]
	}
	return ""
}

// Sources returns the names of the series that create takes a definition or rows from.
func Sources(args []string) (names []string) {
	if len(args) == 0 || args[0] != "create" {
		return nil
	}
	_, err := parse(args[1:], createOptions, func(name, arg string) error {
		if name == "template" || name == "source" {
			names = append(names, arg)
		}
		return nil
	})
	if err != nil {
		return nil // the verb says so
	}
	return names
}

// Taken returns an error if a command is a create with --no-overwrite, and a file of the caller's
// stands where the file of the series would.
func Taken(env *Env, args []string) error {
	keep := false
	if len(args) > 0 && args[0] == "create" {
		_, err := parse(args[1:], createOptions, func(name, _ string) error {
			keep = keep || name == "no-overwrite"
			return nil
		})
		keep = keep && err == nil
	}
	if name := Makes(args); keep && (&command{Env: env}).taken(name) {
		return exists(name)
	}
	return nil
}

// Split takes the caller's file out of a dump or restore that will run elsewhere. The caller must
// write the output of dump to the file out, and give the file in to restore as standard input.
// Commands of other verbs, and wrong ones, are returned unchanged.
func Split(args []string) (remote []string, in, out string) {
	if len(args) == 0 || args[0] != "dump" && args[0] != "restore" {
		return args, "", ""
	}
	remote = args[:1:1]
	rest, err := parse(args[1:], optionsOf(args[0]), func(name, arg string) error {
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

// LineFiles is FileNames of a line of [Pipe], or with frames of [Frames].
func LineFiles(line []byte, frames bool) []string {
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
	return FileNames(args)
}

// FileNames returns the names in a command that may be files of the caller.
func FileNames(args []string) (names []string) {
	_, in, out := Split(args)
	for _, name := range append(XportReads(args), in, out, Reads(args), Draws(args)) {
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// XportReads returns the names of the series or native files that an xport or a graph reads, up to
// the first mistake in its lines. It returns nil for other verbs.
func XportReads(args []string) []string {
	lines := operands(args, columns)
	if pictured := operands(args, drawn); len(pictured) > 0 {
		lines = pictured[1:] // behind the name of the picture
	}
	program := graphdata.New(graphdata.Options{})
	for _, line := range lines {
		if program.Add(line) != nil {
			break
		}
	}
	return program.Files()
}

// Draws returns the file that graph or graphv is to write; the empty string if that is standard
// output, or if it is another verb or its options are wrong.
func Draws(args []string) string {
	name := firstName(args, drawn)
	if name == "-" {
		return ""
	}
	return name
}
