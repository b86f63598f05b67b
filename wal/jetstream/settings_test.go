package jetstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/wal/stream"
)

// TestCheckServers asks servers of a stream that sync, do not sync, have JetStream disabled, are
// dead, or were not named.
func TestCheckServers(t *testing.T) {
	const config = `, "jetstream": {"config": {"sync_always": %t}}`
	synced, unsynced, disabled := fmt.Sprintf(config, true), fmt.Sprintf(config, false), `, "jetstream": {}`
	const since = `, "disabled": true` // in /jsz, and in /varz without a meaning
	// /varz was asked before JetStream had started, and gives no configuration ever after.
	early := func(sync bool) string { return disabled + fmt.Sprintf(`, "config": {"sync_always": %t}`, sync) }
	for _, c := range []struct {
		name    string
		servers []string // what each answers; "dead" or "unnamed"
		absent  int
		wrong   string // "": nothing
	}{
		{"all sync", []string{synced, synced, synced}, 0, ""},
		{"one is dead", []string{synced, "dead", synced}, 1, ""},
		{"one has JetStream disabled", []string{synced, synced, disabled}, 1, ""},
		{"one has disabled JetStream while it ran", []string{synced, synced, synced + since}, 1, ""},
		{"all were asked early", []string{early(true), early(true), early(true)}, 0, ""},
		{"one was asked early and does not sync", []string{synced, early(false), synced}, 0, "server n1: sync_interval is not always"},
		{"one was asked early and has disabled JetStream since", []string{synced, synced, early(true) + since}, 1, ""},
		{"one does not sync", []string{synced, unsynced, synced}, 0, "server n1: sync_interval is not always"},
		{"one does not sync, and one is dead", []string{"dead", unsynced, synced}, 1, "server n1: sync_interval is not always"},
		{"one was not named", []string{synced, synced, "unnamed"}, 0, "server n2: sync_interval is not known"},
		{"one is dead, and one was not named", []string{"dead", synced, "unnamed"}, 1, "server n2: sync_interval is not known"},
		{"two are dead", []string{"dead", synced, "dead"}, 2, "only 1 say"},
		{"one is dead, and one has JetStream disabled", []string{"dead", synced, disabled}, 2, "only 1 say"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var names []string
			var o Options
			for i, says := range c.servers {
				names = append(names, fmt.Sprintf("n%d", i))
				if says == "unnamed" {
					continue
				}
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = fmt.Fprintf(w, `{"server_name": "n%d", "version": %q%s}`, i, leastVersion, says) // the client sees it
				}))
				o.Monitor = append(o.Monitor, s.URL)
				if says == "dead" {
					s.Close()
				} else {
					t.Cleanup(s.Close)
				}
			}
			absent, err := checkServers(t.Context(), names, o)
			if len(absent) != c.absent {
				t.Errorf("absent: %v, want %d", absent, c.absent)
			}
			switch _, setting := errors.AsType[*stream.SettingError](err); {
			case c.wrong == "" && err != nil, c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("got %v, want %q", err, c.wrong)
			case setting != strings.HasPrefix(c.wrong, "server"):
				t.Errorf("%v is a wrong setting: %v", err, setting)
			}
			// n1 is connected to. What is not known of it stops nobody.
			err = checkConnected(t.Context(), "n1", o)
			if unsynced := strings.Contains(c.wrong, "server n1: sync_interval is not always"); (err != nil) != unsynced {
				t.Errorf("connected to n1: %v", err)
			}
			if o.AcceptUnsynced = true; checkConnected(t.Context(), "n1", o) != nil {
				t.Error("the risk was accepted")
			}
		})
	}
}
