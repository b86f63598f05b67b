package systemd_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/systemd"
)

func environment(m map[string]string) func(string) string {
	return func(k string) string { return m[k] }
}

func TestNotify(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := systemd.Notify(environment(map[string]string{"NOTIFY_SOCKET": name}), systemd.Ready, "STATUS=up"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(buf[:n]), "READY=1\nSTATUS=up"; got != want {
		t.Errorf("systemd received %q, want %q", got, want)
	}
}

func TestNotifyWithoutSystemd(t *testing.T) {
	if err := systemd.Notify(environment(nil), systemd.Ready); err != nil {
		t.Error(err)
	}
	if err := systemd.Notify(environment(map[string]string{"NOTIFY_SOCKET": "relative"}), systemd.Ready); err == nil {
		t.Error("a relative NOTIFY_SOCKET was accepted")
	}
}

func TestWatchdogInterval(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want time.Duration
	}{
		{"none", nil, 0},
		{"half", map[string]string{"WATCHDOG_USEC": "20000000"}, 10 * time.Second},
		{"own pid", map[string]string{"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "7"}, 10 * time.Second},
		{"another's", map[string]string{"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "8"}, 0},
		{"nonsense", map[string]string{"WATCHDOG_USEC": "soon"}, 0},
		{"negative", map[string]string{"WATCHDOG_USEC": "-5"}, 0},
		{"overflow", map[string]string{"WATCHDOG_USEC": "9223372036854775807"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := systemd.WatchdogInterval(environment(tt.env), 7); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFilesOfAnother(t *testing.T) {
	got, err := systemd.Files(environment(map[string]string{"LISTEN_PID": "8", "LISTEN_FDS": "2"}), 7)
	if err != nil || got != nil {
		t.Errorf("got %v, %v; the sockets are another process's", got, err)
	}
	if _, err := systemd.Files(environment(map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "-1"}), 7); err == nil {
		t.Error("a negative LISTEN_FDS was accepted")
	}
}
