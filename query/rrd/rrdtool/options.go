package rrdtool

import (
	"fmt"
	"strings"
)

// An option is one that a verb knows.
type option struct {
	long  string
	short byte // 0: none
	arg   bool // takes an argument
}

// An options walks over arguments and separates options from what they are
// mixed with. Options are found anywhere before a "--"; short ones may share a
// word, and long ones are never abbreviated.
type options struct {
	known []option
	args  []string // not yet looked at
	short string   // rest of a word of short options
	rest  []string // arguments that are no options
	lacks string   // the option at the end whose argument is missing: -x or --long
}

// next returns the next option by its long name; the empty string after the last.
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

// maxOptionError is where rrdtool cuts what it says of an option.
const maxOptionError = 47

func optionError(format string, what any) error {
	text := fmt.Sprintf(format, what)
	return optionMistake(text[:min(len(text), maxOptionError)])
}

// An optionMistake is an option that a verb does not have, or one that lacks its argument.
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
