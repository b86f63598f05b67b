package gmetric

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/rondo-db/rondo/receivers"
)

var (
	flagGroup = receivers.Flag{
		Name: "gmetric-group", Repeat: true,
		Usage: "multicast `group[%interface]` to join, or default for Ganglia's own",
	}
	flagAllow = receivers.Flag{
		Name: "gmetric-allow", Repeat: true,
		Usage: "`network` that metrics are taken from, as 10.0.0.0/8 (default: all)",
	}
	flagHost = receivers.Flag{
		Name: "gmetric-host", Default: hostMessage,
		Usage: "name of a host, a `choice`: message (what it says) or source (its address)",
	}
	flagResolve = receivers.Flag{
		Name: "gmetric-resolve", Default: "false", Switch: true,
		Usage: "look up the DNS name of addresses that hosts are called by",
	}
	flagStep   = receivers.StepFlag("gmetric", strconv.Itoa(gmetadStep)+"s")
	flagExpire = receivers.Flag{
		Name: "gmetric-expire", Default: expireKeep,
		Usage: "what becomes of a series that is silent for longer than its dmax, an `action`: keep or delete",
	}
)

// The values of flags.
const (
	hostMessage = "message"
	hostSource  = "source"
	expireKeep  = "keep"
)

// group is the multicast group that gmond sends to by default.
const group = "239.2.11.71"

// settings are the values of the protocol's flags.
type settings struct {
	groups  []string
	allow   []netip.Prefix // empty: all
	source  bool           // the sender's address names the host
	resolve bool           // look up the names of addresses
	step    int64          // seconds
	remove  bool           // delete series that have expired
}

func configure(cfg receivers.Config) (settings, error) {
	var s settings
	for _, g := range cfg.OptionValues(flagGroup) {
		if g == "default" {
			g = group
		}
		s.groups = append(s.groups, g)
	}
	for _, text := range cfg.OptionValues(flagAllow) {
		p, err := parsePrefix(text)
		if err != nil {
			return s, flagAllow.Wrong(err)
		}
		s.allow = append(s.allow, p)
	}
	host, err := cfg.Choice(flagHost, hostMessage, hostSource)
	if err != nil {
		return s, err
	}
	if s.resolve, err = cfg.Bool(flagResolve); err != nil {
		return s, err
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return s, err
	}
	if err := new(metric).define(s.step).Validate(); err != nil {
		return s, flagStep.Wrong(err)
	}
	expire, err := cfg.Choice(flagExpire, expireKeep, expiryDelete)
	s.source, s.remove = host == 1, expire == 1
	return s, err
}

// parsePrefix parses a CIDR, or an address, which is a network of one address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is no CIDR, such as 10.0.0.0/8", text)
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96), nil
	}
	return p, nil
}
