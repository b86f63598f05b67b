package collectd

import (
	"fmt"
	"net"
	"strings"

	"github.com/rondo-db/rondo/receivers"
)

var (
	flagGroup = receivers.Flag{
		Name: "collectd-group", Repeat: true,
		Usage: "multicast `group[%interface]` to join, or default for collectd's own",
	}
	flagLevel = receivers.Flag{
		Name: "collectd-security-level", Default: "none",
		Usage: "least protection of what is taken, a `level`: none, sign or encrypt",
	}
	flagAuthFile = receivers.Flag{
		Name: "collectd-auth-file", File: true,
		Usage: "`file` of users, a line each, as name: password; read again when it changes",
	}
	flagTypesDB = receivers.Flag{
		Name: "collectd-typesdb", Repeat: true, File: true,
		Usage: "types.db `file` beside collectd 5.12's own types, which are built in",
	}
)

// The groups that collectd's network plugin knows.
const (
	group4 = "239.192.74.66"
	group6 = "ff18::efc0:4a42"
)

// settings are the values of the protocol's flags.
type settings struct {
	level  Level
	users  *authFile // nil: none
	types  Types
	groups []string
}

func configure(cfg receivers.Config) (settings, error) {
	cfg = cfg.WithDefaults()
	s := settings{types: StandardTypes()}
	var err error
	if s.level, err = ParseLevel(cfg.Option(flagLevel)); err != nil {
		return s, flagLevel.Wrong(err)
	}
	if name := cfg.Option(flagAuthFile); name != "" {
		if s.users, err = openAuthFile(name); err != nil {
			return s, flagAuthFile.Wrong(err)
		}
	}
	if s.level != None && s.users == nil {
		return s, fmt.Errorf("--%s %s needs --%s", flagLevel.Name, s.level, flagAuthFile.Name)
	}
	for _, name := range cfg.OptionValues(flagTypesDB) {
		if err := s.types.Add(name, func(err error) { cfg.Logger.Warn("types.db line left out", "err", err) }); err != nil {
			return s, flagTypesDB.Wrong(err)
		}
	}
	for _, g := range cfg.OptionValues(flagGroup) {
		if g != "default" {
			s.groups = append(s.groups, g)
			continue
		}
		if host, _, _ := net.SplitHostPort(cfg.Address); !strings.Contains(host, ".") {
			s.groups = append(s.groups, group6)
		}
		s.groups = append(s.groups, group4)
	}
	return s, nil
}
