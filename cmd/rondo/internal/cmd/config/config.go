// Package config has the commands that look at the settings of rondo serve, and those that make
// passwords and tokens for them.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/query/prom/alerts"
)

const configCheckHelp = `Check the configuration file as rondo serve would read it: every key and value, whether the addresses can be listened on and the
database's folder can be made, whether each rule of the policy can ever decide, and whether its archives fit the steps of the
protocols that it may meet. The exit code is 1 if anything is wrong.`

const configShowHelp = `Print every setting of rondo serve: its value, and where that is from (a variable, the file, or the default).`

// NewCommand returns the commands that look at the configuration.
func NewCommand(c *cli.Factory) *cobra.Command {
	p := newPolicySettings(c)
	cmd := &cobra.Command{
		Use:              "config",
		Short:            "Check and show the configuration",
		PersistentPreRun: p.begin,
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where it is from",
		Long:  configShowHelp,
		Args:  cli.Takes(0, 0),
		RunE:  func(*cobra.Command, []string) error { return p.show() },
	}
	cli.AddOutput(show, &p.format)
	cmd.AddCommand(p.newCheck("Check the configuration file"), show)
	return cmd
}

// resolve returns an error if an address is neither empty nor one of a network.
func resolve(network, addr string) (err error) {
	switch {
	case addr == "":
	case network == "udp":
		_, err = net.ResolveUDPAddr(network, addr)
	default:
		_, err = net.ResolveTCPAddr("tcp", addr)
	}
	return err
}

// elsewhere returns the mistakes in settings other than rules: invalid addresses, and a folder that
// cannot hold a database.
func (p *policy) elsewhere(ways server.Ways) (found []problem, err error) {
	wrong := func(format string, args ...any) {
		found = append(found, problem{-1, fmt.Sprintf(format, args...)})
	}
	address := func(flag, network string, addrs ...string) {
		for _, addr := range addrs {
			if err := resolve(network, addr); err != nil {
				wrong("%s: %v", flag, err)
			}
		}
	}
	address("http", "tcp", p.HTTP...)
	for _, r := range ways.Receivers {
		n := r.Protocol.Sockets()
		switch info, err := os.Stat(r.Address.Addr); {
		case len(n) > 0:
			address(r.Protocol.Name, n[0], r.Address.Addr)
		case r.Protocol.Network == "dir" && r.Address.Addr != "" && (err != nil || !info.IsDir()):
			wrong("%s: %s is no folder", r.Protocol.Name, r.Address.Addr)
		}
	}
	t := p.Target()
	if t.Err != nil {
		return nil, t.Err
	}
	rrd, err := p.RRDCached(t.DB, true)
	if err != nil {
		return nil, err
	}
	for _, a := range rrd.Addresses {
		if a.Network != "unix" {
			address(serve.RRDCachedFlag, "tcp", a.Addr)
		}
	}
	if err := alerts.Parse(p.Config.Rules.Files, p.Config.Rules.Every); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			wrong("rule-file: %s", line)
		}
	}
	if err := server.CheckSocket(p.Config.Socket); err != nil {
		wrong("%v", err)
	}
	if p.Config.WebConfig != "" {
		if err := webconfig.Check(p.Config.WebConfig); err != nil {
			wrong("%v", err)
		}
	}
	if err := t.Makeable(); err != nil {
		wrong("db: %v", err)
	} else if err := canHold(t.Folder()); err != nil {
		wrong("db: no database can be in %s: %v", t.Folder(), err)
	}
	return found, nil
}

// canHold returns an error if a folder cannot be written to. If the folder does not exist, the
// folder above it counts.
func canHold(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil {
		return cli.PathError(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	probe, err := os.MkdirTemp(dir, ".rondo-check-*")
	if err != nil {
		return fmt.Errorf("%s: %w", dir, cli.PathError(err))
	}
	return os.Remove(probe)
}
