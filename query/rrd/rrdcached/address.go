package rrdcached

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// DefaultPort is the TCP port of rrdcached.
const DefaultPort = wire.DefaultPort

// SocketName is the name of the socket in the database's folder where a server listens by default.
const SocketName = "rrdcached.sock"

// An Address says where to listen, and which commands to answer there.
type Address struct {
	Network string // tcp or unix
	Addr    string // host:port, or the path of a socket
	// Allow is the set of commands that are answered; the zero value means all.
	Allow Commands
	// Mode is the mode of a unix socket's file; 0 means 0600, or 0660 with a group.
	Mode fs.FileMode
	// Group is the owning group of a unix socket, by name or number; empty means the process's own.
	Group string
}

// Commands is a set of commands.
type Commands uint32

// allows reports whether cmd is in the set. HELP and QUIT are in every set.
func (c Commands) allows(cmd *command) bool {
	return c == 0 || c&(1<<cmd.id) != 0 || cmd.always
}

// ParseCommands reads a set of commands: their names, with commas, blanks or plus signs between
// them.
func ParseCommands(text string) (Commands, error) {
	var set Commands
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '+' || r == ' ' }) {
		cmd := findCommand([]byte(name))
		if cmd == nil || cmd.id == cmdEnd || cmd.id == cmdWrote {
			return 0, fmt.Errorf("there is no command %q to allow", name)
		}
		set |= 1 << cmd.id
		if cmd.id == cmdBatch {
			set |= 1 << cmdEnd
		}
	}
	if set == 0 {
		return 0, errors.New("no command is allowed")
	}
	return set, nil
}

// ParseAddress reads an address as rrdcached and its clients write it: unix:PATH, /PATH, HOST,
// HOST:PORT, [V6] or [V6]:PORT. Settings may follow behind a question mark, with & between them:
// allow=UPDATE+FLUSH, and for a unix socket mode=0660 and group=NAME.
func ParseAddress(text string) (Address, error) {
	text, settings, found := strings.Cut(text, "?")
	network, addr, err := wire.ParsePlace(text)
	a := Address{Network: network, Addr: addr}
	if err != nil || !found {
		return a, err
	}
	values, err := url.ParseQuery(settings)
	if err != nil {
		return a, fmt.Errorf("settings of %s: %w", text, err)
	}
	for key, v := range values {
		if err := a.set(key, v); err != nil {
			return a, fmt.Errorf("settings of %s: %s: %w", text, key, err)
		}
	}
	return a, nil
}

func (a *Address) set(key string, values []string) (err error) {
	value := strings.Join(values, " ")
	switch {
	case key == "allow":
		a.Allow, err = ParseCommands(value)
		return err
	case key != "mode" && key != "group":
		return errors.New("is not one of allow, mode, group")
	case a.Network != "unix":
		return errors.New("is for unix sockets")
	case key == "group":
		a.Group = value
		_, err = unixsocket.GroupID(value)
		return err
	}
	mode, err := strconv.ParseUint(value, 8, 32)
	if err != nil || mode == 0 || mode > 0o777 {
		return fmt.Errorf("%q is no mode such as 0660", value)
	}
	a.Mode = fs.FileMode(mode)
	return nil
}

// String returns the address in the form that ParseAddress reads, without settings.
func (a Address) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Addr
	}
	return a.Addr
}

// Listen opens the socket of a. It replaces a unix socket that nobody listens at any more.
func Listen(a Address) (net.Listener, error) {
	if a.Network != "unix" {
		return net.Listen(a.Network, a.Addr)
	}
	if err := unixsocket.Vacant(context.Background(), a.Addr); err != nil {
		return nil, err
	}
	return unixsocket.Listen(a.Addr, unixsocket.Access{Mode: a.Mode, Group: a.Group}.Apply)
}
