package rrdtool

import "context"

// daemonOptions are the options of the verbs that take a daemon's address.
var daemonOptions = map[string][]option{
	"create": createOptions, "update": updateOptions, "fetch": fetchOptions, "first": firstOptions, "last": lastOptions,
	"lastupdate": lastOptions, "info": infoOptions, "list": listOptions, "dump": dumpOptions, "tune": tuneOptions,
	"flushcached": flushcachedOptions, "xport": xportOptions,
}

// Daemon takes the option --daemon out of the arguments of a verb. takes says whether the verb has it; arguments that are
// wrong stay as they are, and the verb says what is.
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

// A placed is a Store whose relative names are below a folder: a client of a daemon on this machine.
type placed interface{ Dir() string }

// A tuner is a Store that has tune done where it cannot be altered: a client of a daemon.
type tuner interface {
	Tune(ctx context.Context, path string, args []string) error
}
