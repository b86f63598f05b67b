package receivertest

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/receivers"
)

// httpSteps are the tests of a receiver over HTTP.
func httpSteps() []step {
	return []step{
		{"serves", serves},
		{"knows its address", knowsAddress},
		{"answers when the sample is stored", func(t *testing.T, c Case) { answersStored(t, c, false) }},
		{"stores what it has read before it stops", func(t *testing.T, c Case) { answersStored(t, c, true) }},
		{"stops though the sink does not return", stopsRequests},
		{"refuses requests after it has stopped", refusesStopped},
		{"survives garbage", garbageRequests},
		{"keeps order", order},
		{"tells to try again when the sink is slow", shedsRequests},
		{"refuses series over the limit", limits},
	}
}

func knowsAddress(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	if got, want := r.Addr(), r.site.listener.Addr(); got == nil || got.String() != want.String() {
		t.Errorf("the address is %v, want %v", got, want)
	}
}

// ask sends a message in a goroutine.
func (r *Running) ask(message []byte) <-chan Answer {
	answer := make(chan Answer, 1)
	q := r.c.Request(r.t, r.URL(), message)
	go func() { answer <- r.Do(q) }()
	return answer
}

// answersStored: there is no answer while the sample is on its way into the store, and one when it
// is there, though the receiver stops.
func answersStored(t *testing.T, c Case, stops bool) {
	rec := new(Recorder)
	r := Start(t, c, rec, func(cfg *receivers.Config) { cfg.Patience = waitFor })
	r.Send(c.Message(0))
	release := rec.Stall()
	defer release()
	answer := r.ask(c.Message(1))
	r.Until("a batch is on its way", func(s State) bool { return s.Waiting > 0 })
	select {
	case a := <-answer:
		t.Errorf("it answers %d before the sample is stored", a.Status)
	default:
	}
	if stops {
		r.cancel()
	}
	release()
	if stops {
		r.Stop()
	}
	if a := <-answer; a.Status/100 != 2 || len(rec.Samples()) != 2 {
		t.Errorf("the answer is %d %s with %d samples stored, want success and 2", a.Status, a.Text, len(rec.Samples()))
	}
}

func stopsRequests(t *testing.T, c Case) {
	rec := new(Recorder)
	r := Start(t, c, rec, func(cfg *receivers.Config) { cfg.Patience, cfg.Grace = waitFor, time.Millisecond })
	defer rec.Stall()()
	answer := r.ask(c.Message(0))
	r.Until("a batch is on its way", func(s State) bool { return s.Waiting > 0 })
	r.Stop()
	tryAgain(t, <-answer)
	if st := r.Stats(); st.Dropped[receivers.Failed] != 1 || st.Samples != 0 {
		t.Errorf("stats %+v, want one sample failed", st)
	}
}

func refusesStopped(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	r.Send(c.Message(0))
	r.Stop()
	if err := r.Close(); err != nil {
		t.Errorf("close after serve: %v", err)
	}
	tryAgain(t, r.Ask(c.Message(1)))
	if got := r.Recorder.Samples(); len(got) != 1 {
		t.Errorf("%d samples, want 1", len(got))
	}
}

// tryAgain fails the test unless a asks the client to send the request again.
func tryAgain(t *testing.T, a Answer) {
	t.Helper()
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("the answer is %d %s, want 503 with Retry-After", a.Status, a.Text)
	}
}

// garbageRequests: an answer of 500 or above would make a client send its garbage for ever.
func garbageRequests(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	r.Send(c.Message(0))
	refused := 0
	for i, m := range garbageOf(t, c) {
		switch a := r.Ask(m); {
		case a.Status/100 == 4:
			refused++
			if a.Text == "" {
				t.Errorf("garbage %.100q is answered by %d without a text", m, a.Status)
			}
		case a.Status/100 != 2:
			t.Errorf("garbage %.100q is answered by %d %s", m, a.Status, a.Text)
		}
		if i%garbageEvery == 0 {
			r.Send(c.Message(1 + i/garbageEvery))
		}
	}
	if st := r.Stats(); st.Dropped == [receivers.NumReasons]uint64{} || refused == 0 {
		t.Errorf("stats %+v and %d refused: no drop was counted", st, refused)
	}
}

func shedsRequests(t *testing.T, c Case) {
	rec := new(Recorder)
	r := Start(t, c, rec, func(cfg *receivers.Config) { cfg.InFlight = 1 })
	r.Send(c.Message(0))
	release := rec.Stall()
	defer release()
	var answers []<-chan Answer
	const shed = 3
	for n := range shed {
		answers = append(answers, r.ask(c.Message(1+n)))
	}
	for _, a := range answers {
		tryAgain(t, <-a)
	}
	release()
	r.Send(c.Message(1 + shed))
	r.Stop()
	st, samples := r.Stats(), rec.Samples()
	if st.Dropped[receivers.Overload] != shed || st.Samples != 2 || len(samples) != 2 {
		t.Fatalf("%d samples and the stats %+v, want 2 samples and %d shed", len(samples), st, shed)
	}
	c.check(t, samples[1], 1+shed)
}

// Gzip returns the body of a request packed by gzip.
func Gzip(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.StatelessCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
