package config

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// A setting is a row of what `config show` prints.
type setting struct{ name, value, from string }

// show prints the settings.
func (p *policy) show() error {
	settings, err := p.inForce()
	if err != nil {
		return err
	}
	w := table.New(p.Stdout, p.format, "setting", "value", "from")
	for _, s := range settings {
		w.Row(s.name, s.value, s.from)
	}
	return w.Close()
}

// inForce returns the settings that serve would use, and the daemon that other commands would ask.
func (p *policy) inForce() ([]setting, error) {
	_, named, err := p.Apply()
	if err != nil {
		return nil, err
	}
	t := p.Target()
	if t.Err != nil {
		return nil, t.Err
	}
	rrd, err := p.RRDCached(t.Folder(), named[serve.RRDCachedFlag])
	if err != nil {
		return nil, err
	}
	all := []setting{{"db", t.Folder(), p.origin("db", t.Named)}}
	if base := p.Base(); base != "" {
		all = append(all, setting{cli.BaseKey, base, p.origin(cli.BaseKey, true)})
	}
	if t.Daemon != "" { // serve does not use it, but every other command does
		all = append(all, setting{"daemon", withoutPassword(t.Daemon), p.origin("daemon", true)})
	}
	p.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "db" || f.Name == "help" || f.Name == "daemon" || slices.Contains(cli.CredentialKeys, f.Name) {
			return
		}
		s := setting{f.Name, serve.ShownValue(f), p.origin(f.Name, named[f.Name])}
		switch f.Name { // flags whose default stands for another value
		case serve.RRDCachedFlag:
			if !named[f.Name] {
				s.value = rrd.Addresses[0].String()
			}
		case serve.RRDCachedBase:
			if s.value == "" {
				s.value, s.from = p.rrdcachedBase()
			}
		case serve.RRDCachedHostConns:
			if rrd.HostConns == 0 {
				s.value = strconv.Itoa(rrdcached.DefaultHostConns(rrd.Conns))
			}
		case "socket-mode":
			if s.value == "" {
				s.value = fmt.Sprintf("%#o", p.Config.Socket.FileMode())
			}
		}
		all = append(all, s)
	})
	return all, nil
}

// withoutPassword returns the address of a server without its password.
func withoutPassword(addr string) string {
	if u, err := url.Parse(addr); err == nil {
		if _, ok := u.User.Password(); !ok {
			return addr
		}
	}
	return natsconn.Redacted(addr)
}

// rrdcachedBase returns the folder that stands for an empty --rrdcached-base, and where it is from.
func (p *policy) rrdcachedBase() (folder, from string) {
	if base := p.Base(); base != "" {
		return base, p.origin(cli.BaseKey, true)
	}
	folder, err := os.Getwd()
	if err != nil {
		folder = "." // the working folder is gone: serve says so
	}
	return folder, p.origin(serve.RRDCachedBase, false)
}

// origin says where a setting is from; named says that somebody has chosen it.
func (p *policy) origin(name string, named bool) string {
	if f := p.Flags.Lookup(name); f != nil && f.Changed {
		return "flag --" + name
	}
	if _, ok := p.LookupEnv(config.Variable(name)); ok {
		return "variable " + config.Variable(name)
	}
	if named {
		return p.File
	}
	return "default"
}

// misspelt returns a warning if the first part of a rule's path resembles the prefix of a protocol
// without being one, and otherwise "". Paths of rrdcached's clients may begin with anything, and
// short words like mongo, mon and rrd are plausible there. So a prefix of four letters counts as
// misspelt only if nothing but its capitals are wrong.
func misspelt(path string, protocols []server.Receiver) string {
	first, _, _ := strings.Cut(path, "/")
	if first == "" || strings.ContainsAny(first, "*?") {
		return ""
	}
	similar := ""
	for _, r := range protocols {
		prefix := r.Protocol.PathPrefix()
		limit := max(0, len(prefix)-4) / 2
		switch {
		case prefix == first:
			return ""
		case cli.Distance(strings.ToLower(first), prefix, limit) <= limit:
			similar = prefix
		}
	}
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("no receiver makes paths that begin with %s/: did you mean %s/?", first, similar)
}
