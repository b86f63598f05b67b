package rrdtool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A verb is one of rrdtool's commands.
type verb struct {
	name  string
	usage string // the arguments, and a line for each option
	does  string // the effect, in a few words
	run   func(c *command, args []string) error

	options []option
	about   subject
}

// A subject is what the operands of a verb name.
type subject uint8

// The subjects.
const (
	anything subject = iota
	readName         // a series, or a native file in place of one
	changed          // a series, before which a native file of the name is imported
	madeName         // a series that is made
	drawn            // a picture, and lines that name series
	columns          // lines that name series
)

// own are rondo's own verbs, which rrdtool does not have. They exist if Env.Rondo is set.
var own = []verb{
	{"alter", alterUsage, "change what a series keeps, with its history", (*command).alter, alterOptions, changed},
}

// OwnVerbs returns the verbs of rondo that rrdtool does not have.
func OwnVerbs() []string { return verbNames(own) }

func verbNames(verbs []verb) (names []string) {
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return names
}

// verbs are the verbs of rrdtool, in rrdtool's order.
var verbs = []verb{
	{"create", createUsage, "make a series", (*command).create, createOptions, madeName},
	{"update", updateUsage, "store samples in a series", (*command).update, updateOptions, changed},
	{"updatev", updatevUsage, "store samples and print the rows they closed", (*command).updatev, updatevOptions, changed},
	{"graph", graphUsage, "draw a graph", (*command).graph, graphOptions, drawn},
	{"graphv", graphUsage, "draw a graph and print its numbers", (*command).graphv, graphOptions, drawn},
	{"dump", dumpUsage, "print a series as XML", (*command).dump, dumpOptions, readName},
	{"restore", restoreUsage, "make a series of XML", (*command).restore, restoreOptions, madeName},
	{"last", lastUsage, "print the time of the last update", (*command).last, lastOptions, readName},
	{"lastupdate", lastUsage, "print the time and the readings of the last update", (*command).lastupdate, lastOptions, readName},
	{"first", firstUsage, "print the time of the first row of an archive", (*command).first, firstOptions, readName},
	{"info", infoUsage, "print the definition and the state of a series", (*command).info, infoOptions, readName},
	{"list", listUsage, "print the names of series", (*command).list, listOptions, anything},
	{"fetch", fetchUsage, "print the rows of an archive", (*command).fetch, fetchOptions, readName},
	{"tune", tuneUsage, "change the definition of a series", (*command).tune, tuneOptions, changed},
	{"resize", resizeUsage, "copy a series with more or fewer rows", (*command).resize, nil, changed},
	{"xport", xportUsage, "print columns of several series side by side", (*command).xport, xportOptions, columns},
	{"flushcached", flushcachedUsage, "apply the samples of series that are held", (*command).flushcached, flushcachedOptions, anything},
}

// Verbs returns the verbs of rrdtool that Run has, in rrdtool's order.
func Verbs() []string { return verbNames(verbs) }

// Run runs one command; args[0] is the verb. Output goes to Stdout, messages go to Stderr. Run
// returns rrdtool's exit code, 0 or 1. For a verb of [OwnVerbs] it returns 2 if an option is wrong.
func Run(ctx context.Context, env *Env, args []string) int {
	env = env.withDefaults()
	out := bufio.NewWriter(env.Stdout)
	err := runCommand(ctx, env, out, args)
	if e := out.Flush(); err == nil && e != nil {
		err = fmt.Errorf("writing: %w", e)
	}
	if err == nil {
		return 0
	}
	// If this fails, the message cannot be delivered.
	_, _ = fmt.Fprintf(env.Stderr, "ERROR: %v\n", err)
	if _, wrong := errors.AsType[optionMistake](err); wrong && env.Rondo && slices.Contains(OwnVerbs(), args[0]) {
		_, _ = fmt.Fprintf(env.Stderr, "See rondo %s --help\n", args[0])
		return 2
	}
	return 1
}

// runCommand runs a command and prints to out. env must have its defaults.
func runCommand(ctx context.Context, env *Env, out *bufio.Writer, args []string) error {
	c := &command{Env: env, ctx: ctx, out: out}
	return env.locale.localError(c.dispatch(args))
}

func (c *command) dispatch(args []string) error {
	if len(args) == 0 {
		c.usage(nil)
		return nil
	}
	if args[0] == "help" {
		var v *verb
		if len(args) > 1 {
			v = c.find(args[1])
		}
		c.usage(v)
		return nil
	}
	v := c.find(args[0])
	if len(args) == 1 && (v == nil || v.name != "list" || !c.Rondo) && !c.exact {
		c.usage(v)
		return nil
	}
	if v == nil {
		return fmt.Errorf("unknown function '%s'", args[0])
	}
	return v.run(c, args[1:])
}

// find returns the verb of a name, or nil.
func (c *command) find(name string) *verb {
	if c.Rondo {
		if v := verbIn(own, name); v != nil {
			return v
		}
	}
	return verbIn(verbs, name)
}

func verbIn(verbs []verb, name string) *verb {
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return &verbs[i]
}

// standsFor is the first line of the help, where many programs look for the version of rrdtool.
const standsFor = "RRDtool 1.7.2  is what rondo stands in for.\n\n"

// usage prints the usage of v, or the list of verbs if v is nil.
func (c *command) usage(v *verb) {
	// The writer is buffered: an error is returned by a later Flush.
	w := c.out
	usage := "usage: rondo"
	if !c.Rondo {
		usage = "Usage: rrdtool" // scripts look for the word
		_, _ = w.WriteString(standsFor)
	}
	if v != nil {
		text := v.usage
		if v.name == "list" && c.Rondo {
			text = strings.Replace(text, "\n", "\n"+listsAll, 1)
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n\n%s %s %s\n", v.name, v.does, usage, v.name, text)
		return
	}
	_, _ = fmt.Fprintf(w, "%s VERB ARGUMENTS\n\n", usage)
	for i := range verbs {
		_, _ = fmt.Fprintf(w, "  %-11s %s\n", verbs[i].name, verbs[i].does)
	}
	_, _ = fmt.Fprint(w, "\nOver standard input (rondo rrdtool -) also cd, ls, mkdir, pwd and quit.\nrondo help VERB says more.\n")
}
