package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/query/prom/alerts"
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
	w, err := table.New(p.stdout, p.format, "setting", "value", "from")
	if err != nil {
		return err
	}
	for _, s := range settings {
		if err := w.Row(s.name, s.value, s.from); err != nil {
			return err
		}
	}
	return w.Close()
}

// inForce returns the settings that serve would use, and the daemon that other commands would ask.
func (p *policy) inForce() ([]setting, error) {
	_, named, err := p.apply()
	if err != nil {
		return nil, err
	}
	t := p.target()
	if t.Err != nil {
		return nil, t.Err
	}
	rrd, err := p.rrd.config(p.process, t.Folder(), named[rrdcachedFlag])
	if err != nil {
		return nil, err
	}
	all := []setting{{"db", t.Folder(), p.origin("db", t.Named)}}
	if base := p.base(); base != "" {
		all = append(all, setting{baseKey, base, p.origin(baseKey, true)})
	}
	if t.Daemon != "" { // serve does not use it, but every other command does
		all = append(all, setting{"daemon", withoutPassword(t.Daemon), p.origin("daemon", true)})
	}
	p.flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "db" || f.Name == "help" || f.Name == "daemon" || slices.Contains(credentialKeys, f.Name) {
			return
		}
		s := setting{f.Name, shownValue(f), p.origin(f.Name, named[f.Name])}
		switch f.Name { // flags whose default stands for another value
		case rrdcachedFlag:
			if !named[f.Name] {
				s.value = rrd.Addresses[0].String()
			}
		case rrdcachedBase:
			if s.value == "" {
				s.value, s.from = p.rrdcachedBase()
			}
		case rrdcachedHostConns:
			if rrd.HostConns == 0 {
				s.value = strconv.Itoa(rrdcached.DefaultHostConns(rrd.Conns))
			}
		case "socket-mode":
			if s.value == "" {
				s.value = fmt.Sprintf("%#o", p.socket.FileMode())
			}
		}
		all = append(all, s)
	})
	return all, nil
}

// valueOf returns the value of a flag as the command line takes it.
func valueOf(f *pflag.Flag) string {
	if v, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(v.GetSlice(), " ")
	}
	return f.Value.String()
}

// shownValue returns the value of a flag for output and log, without secrets that it may have.
func shownValue(f *pflag.Flag) string {
	switch f.Name {
	case "cluster":
		return natsconn.Redacted(valueOf(f))
	case "alertmanager", "alert-webhook":
		all := slices.Clone(f.Value.(pflag.SliceValue).GetSlice())
		for i, a := range all {
			all[i] = alerts.Redacted(a)
		}
		return strings.Join(all, " ")
	}
	return valueOf(f)
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
	if base := p.base(); base != "" {
		return base, p.origin(baseKey, true)
	}
	folder, err := os.Getwd()
	if err != nil {
		folder = "." // the working folder is gone: serve says so
	}
	return folder, p.origin(rrdcachedBase, false)
}

// origin says where a setting is from; named says that somebody has chosen it.
func (p *policy) origin(name string, named bool) string {
	if f := p.flags.Lookup(name); f != nil && f.Changed {
		return "flag --" + name
	}
	if _, ok := p.lookupEnv(config.Variable(name)); ok {
		return "variable " + config.Variable(name)
	}
	if named {
		return p.file
	}
	return "default"
}
