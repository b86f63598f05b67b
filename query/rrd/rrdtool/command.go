package rrdtool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A command is one run of one verb.
type command struct {
	*Env
	ctx context.Context // the context of Run
	out *bufio.Writer   // Stdout

	exact bool     // print for programs: see Frames
	empty []string // folders that mkdir has made, in pipe mode
}

// printf prints to Stdout. Stdout is buffered, so an error is returned by a later Write or Flush.
func (c *command) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// now returns the present, and a later time in each call.
func (c *command) now() time.Time { return c.Now().In(c.Location) }

// daemon applies the option --daemon: the command uses the store of the server at addr.
func (c *command) daemon(addr string) error {
	if addr == "" {
		return nil
	}
	if c.Connect == nil {
		return errors.New("--daemon is not built into this rondo yet")
	}
	s, err := c.Connect(c.ctx, addr)
	if err != nil {
		return err
	}
	env := *c.Env
	env.Store = s
	if p, ok := s.(placed); ok {
		env.Dir = p.Dir()
	}
	c.Env = &env
	return nil
}

// An option is an option of a verb.
type option struct {
	long  string
	short byte // 0: none
	arg   bool // takes an argument
}

// optionsIn returns the options that a usage lists. Each has a line, where at least two blanks
// stand before the effect.
func optionsIn(usage string) (options []option) {
	for line := range strings.Lines(usage) {
		names, _, _ := strings.Cut(strings.TrimLeft(line, " "), "  ")
		short, long, ok := strings.Cut(strings.TrimSpace(names), "--")
		if !ok || line[0] != ' ' {
			continue
		}
		var o option
		if short != "" {
			o.short = short[1]
		}
		o.long, _, o.arg = strings.Cut(long, " ")
		options = append(options, o)
	}
	return options
}

// An options walks over arguments and separates options from other arguments. Options may stand
// anywhere before a "--". Short options may share a word. Long options cannot be abbreviated.
type options struct {
	known []option
	args  []string // arguments that were not read yet
	short string   // rest of a word of short options
	rest  []string // arguments that are not options
	lacks string   // the last option, -x or --long, if its argument is missing
}

// next returns the long name of the next option, or "" after the last.
func (o *options) next() (name, arg string, err error) {
	for o.short == "" {
		if len(o.args) == 0 {
			return "", "", nil
		}
		word := o.args[0]
		o.args = o.args[1:]
		switch {
		case word == "--":
			o.rest = append(o.rest, o.args...)
			o.args = nil
		case strings.HasPrefix(word, "--"):
			return o.longOption(word[2:])
		case len(word) > 1 && word[0] == '-':
			o.short = word[1:]
		default:
			o.rest = append(o.rest, word)
		}
	}
	c := o.short[0]
	o.short = o.short[1:]
	for _, k := range o.known {
		if k.short != c || c == 0 {
			continue
		}
		if !k.arg {
			return k.long, "", nil
		}
		arg, o.short = o.short, ""
		if arg != "" {
			return k.long, arg, nil
		}
		if len(o.args) == 0 {
			o.lacks = "-" + string(c)
			return "", "", optionError("option requires an argument -- '%c'", c)
		}
		arg, o.args = o.args[0], o.args[1:]
		return k.long, arg, nil
	}
	return "", "", optionError("invalid option -- '%c'", c)
}

func (o *options) longOption(word string) (name, arg string, err error) {
	name, arg, given := strings.Cut(word, "=")
	for _, k := range o.known {
		if k.long != name {
			continue
		}
		switch {
		case !k.arg && given:
			return "", "", optionError("option takes no arguments -- '%s'", name)
		case !k.arg || given:
			return name, arg, nil
		case len(o.args) == 0:
			o.lacks = "--" + name
			return "", "", optionError("option requires argument -- '%s'", name)
		}
		arg, o.args = o.args[0], o.args[1:]
		return name, arg, nil
	}
	return "", "", optionError("invalid option -- '%s'", word)
}

// maxOptionError is the length at which rrdtool cuts its error about an option, in bytes.
const maxOptionError = 47

func optionError(format string, what any) error {
	text := fmt.Sprintf(format, what)
	return optionMistake(text[:min(len(text), maxOptionError)])
}

// An optionMistake is the error for an unknown option, or for an option without its argument.
type optionMistake string

func (o optionMistake) Error() string { return string(o) }

// parse calls set for every option and returns the other arguments.
func parse(args []string, known []option, set func(name, arg string) error) ([]string, error) {
	o := options{known: known, args: args}
	for {
		name, arg, err := o.next()
		if err != nil {
			return nil, err
		}
		if name == "" {
			return o.rest, nil
		}
		if err := set(name, arg); err != nil {
			return nil, err
		}
	}
}
