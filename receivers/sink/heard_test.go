package sink_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// TestSendersAreLogged: nothing in the log said that data arrive, and whose.
func TestSendersAreLogged(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1_700_000_000, 0)
	to := sink.New(enginetest.Open(t), sink.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
	})
	resolve := func(sender string, paths ...string) {
		t.Helper()
		if err := to.Resolve(t.Context(), requests(sender, paths...)); err != nil {
			t.Fatal(err)
		}
	}
	resolve("web1", "a/1", "a/2", "a/3")
	resolve("web2", "b/1")
	resolve("web1", "a/4", "a/5") // within the minute
	for text, want := range map[string]int{
		`msg="a sender has begun to send" sender=web1 first=a/1`: 1,
		`msg="a sender has begun to send"`:                       2,
		`msg="new series" sender=web1 series=3 last=a/3`:         1,
		`msg="new series" sender=web1`:                           1,
	} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%d lines with %s, want %d:\n%s", got, text, want, log.String())
		}
	}
	now = now.Add(time.Minute)
	resolve("web1", "a/1", "a/6") // a/1 is there
	if want := `msg="new series" sender=web1 series=3 last=a/6`; !strings.Contains(log.String(), want) {
		t.Errorf("no line %s:\n%s", want, log.String())
	}
}
