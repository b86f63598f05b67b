package backend

import (
	"strings"
	"testing"
)

// TestOpenCredentialsAreToldOf: who sends a password or a token to another machine without
// encryption gets a warning, and nobody else does.
func TestOpenCredentialsAreToldOf(t *testing.T) {
	const warning = "what says who you are goes to "
	for _, tt := range []struct {
		daemon, token string
		warned        bool
	}{
		{"http://u:p@192.0.2.1:9180", "", true},
		{"http://192.0.2.1:9180", "secret", true},
		{"db.example.com:9180", "secret", true},
		{"http://192.0.2.1:9180", "", false},
		{"https://192.0.2.1:9180", "secret", false},
		{"https://u:p@db.example.com", "", false},
		{"http://127.0.0.1:9180", "secret", false},
		{"http://[::1]:9180", "secret", false},
		{"http://u:p@localhost:9180", "", false},
	} {
		var told []string
		target := Target{Daemon: tt.daemon, Credentials: Credentials{Token: tt.token}, Notice: func(line string) { told = append(told, line) }}
		c, err := target.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		got := strings.Join(told, "\n")
		if strings.HasPrefix(got, warning) != tt.warned || !tt.warned && got != "" || strings.Contains(got, "secret") || strings.Contains(got, "u:p") {
			t.Errorf("%s, token %q: told %q", tt.daemon, tt.token, got)
		}
	}
}
