package wire

import (
	"errors"
	"net"
	"strings"
)

// DefaultPort is the TCP port of rrdcached.
const DefaultPort = "42217"

// ParsePlace reads where a server listens: unix:PATH, /PATH, HOST, HOST:PORT, [V6] or [V6]:PORT. It
// returns the network (unix or tcp) and the address for package net.
func ParsePlace(text string) (network, addr string, err error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok || strings.HasPrefix(text, "/") {
		if path == "" {
			return "", "", errors.New("a unix socket needs a path")
		}
		return "unix", path, nil
	}
	if text == "" {
		return "", "", errors.New("an address is missing")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), DefaultPort
		if strings.ContainsAny(host, "[]") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", "", err
		}
	}
	return "tcp", net.JoinHostPort(host, port), nil
}
