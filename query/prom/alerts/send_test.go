package alerts

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRedirects: alerts follow a receiver that sends them elsewhere, without what is secret in its
// address. A redirect that would turn them into a GET was counted as taken.
func TestRedirects(t *testing.T) {
	var got []string
	there := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // compared below
		got = append(got, r.Method+" "+string(body))
		for name, values := range r.Header {
			if text := strings.Join(values, " "); name == "Authorization" || strings.Contains(text, "secret") {
				t.Errorf("%s: %s goes to another receiver", name, text)
			}
		}
	}))
	defer there.Close()
	code := 0
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" || r.URL.Query().Get("token") != "secret" {
			t.Errorf("the receiver is asked with %v", r.URL)
		}
		http.Redirect(w, r, there.URL, code)
	}))
	defer here.Close()
	m, err := New(Config{Webhooks: []string{strings.Replace(here.URL, "//", "//me:secret@", 1) + "?token=secret"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, code = range []int{301, 302, 303, 307, 308} {
		got = nil
		err := m.senders[0].request(t.Context(), []byte("alerts"))
		switch {
		case code >= 307 && (err != nil || len(got) != 1 || got[0] != "POST alerts"):
			t.Errorf("%d: %v, %q", code, err, got)
		case code < 307 && (err == nil || !strings.Contains(err.Error(), http.StatusText(code)) || got != nil):
			t.Errorf("%d: %v, %q", code, err, got)
		}
	}
}

func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"http://a:9093/x":                "http://a:9093/x",
		"https://me:secret@a/":           "https://me:xxxxx@a/",
		"https://secret@a/":              "https://xxxxx@a/",
		"https://a/?token=secret&secret": "https://a/?token=xxxxx&xxxxx",
		"https://me:secret%zz@a/":        "xxxxx",
	} {
		if got := Redacted(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
