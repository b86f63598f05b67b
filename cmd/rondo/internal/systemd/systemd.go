// Package systemd speaks the three protocols between a service and systemd: messages about
// readiness and for the watchdog, sent to the socket in NOTIFY_SOCKET, and listening sockets that
// systemd has opened.
//
// Without systemd, when its variables are not set, the functions do nothing.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The messages of sd_notify(3) that rondo sends.
const (
	Ready     = "READY=1"
	Stopping  = "STOPPING=1"
	Watchdog  = "WATCHDOG=1"
	Reloading = "RELOADING=1"
)

// firstFD is the file descriptor of the first socket, which the protocol fixes.
const firstFD = 3

// Notify sends the lines of state, as one message, to systemd.
func Notify(getenv func(string) string, state ...string) error {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if name[0] != '/' && name[0] != '@' {
		return fmt.Errorf("notify systemd: NOTIFY_SOCKET %q is neither a path nor an abstract name", name)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer func() { _ = c.Close() }() // a datagram socket buffers nothing
	if _, err := c.Write([]byte(strings.Join(state, "\n"))); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// WatchdogInterval returns how often to send a Watchdog message, which is half the time that
// systemd allows. It returns 0 if systemd expects none from this process.
func WatchdogInterval(getenv func(string) string, pid int) time.Duration {
	if p := getenv("WATCHDOG_PID"); p != "" && p != strconv.Itoa(pid) {
		return 0
	}
	us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us < 2 || us > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 2
}

// Files returns the sockets that systemd has opened for the process pid, in order, by the names
// that the unit gives them (FileDescriptorName=). A socket without a name is called "unknown".
func Files(getenv func(string) string, pid int) (map[string][]*os.File, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > 1024 {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS is %q", getenv("LISTEN_FDS"))
	}
	var names []string
	if s := getenv("LISTEN_FDNAMES"); s != "" {
		names = strings.Split(s, ":")
	}
	files := make(map[string][]*os.File)
	for i := range n {
		name := "unknown"
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		files[name] = append(files[name], os.NewFile(uintptr(firstFD+i), name))
	}
	return files, nil
}
