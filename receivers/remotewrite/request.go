package remotewrite

import (
	"context"
	"errors"
	"hash/maphash"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/golang/snappy"

	"github.com/rondo-db/rondo/receivers"
)

const (
	maxUnpacked = 32 << 20 // bytes of a request after unpacking
	keptBytes   = 8 << 20  // of a request's memory that is kept for others
	message2    = "io.prometheus.write.v2.Request"
)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handle(w, r, func(ctx context.Context, body []byte) { s.request(ctx, w, r, body) })
}

// request takes one request whose body is there.
func (s *server) request(ctx context.Context, rw http.ResponseWriter, r *http.Request, body []byte) {
	version, wrong := versionOf(r)
	if wrong != "" {
		s.bad(rw, r, http.StatusUnsupportedMediaType, receivers.Unsupported, wrong)
		return
	}
	n, err := snappy.DecodedLen(body)
	switch {
	case err != nil:
		s.bad(rw, r, http.StatusBadRequest, receivers.Malformed, "the body is not in snappy's block format")
		return
	case n > maxUnpacked:
		s.bad(rw, r, http.StatusBadRequest, receivers.Limit, "the body unpacks to "+strconv.Itoa(n)+" bytes, more than "+strconv.Itoa(maxUnpacked))
		return
	}
	w := s.works.Get().(*work)
	defer s.put(w)
	w.reset()
	w.unpack, w.hash = s.Unpack, max(maphash.Bytes(s.seed, body), 1)
	if err := w.charge(n); err != nil {
		s.unread(rw, r, err)
		return
	}
	if w.body, err = snappy.Decode(w.body[:cap(w.body)], body); err != nil {
		s.bad(rw, r, http.StatusBadRequest, receivers.Malformed, "the body is not in snappy's block format")
		return
	}
	err = w.decode(version)
	if err == nil {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.Context(), cancel)()
		err = s.take(ctx, asking, w, receivers.ClientHost(r))
	}
	if err != nil {
		s.unread(rw, r, err)
		return
	}
	s.answer(rw, r, w, version)
}

// unread answers a request that cannot be read: err is a *receivers.Error. Nothing of it is stored.
func (s *server) unread(rw http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBusy) { // which is counted
		receivers.TryAgain(rw, errBusy.What)
		return
	}
	s.bad(rw, r, http.StatusBadRequest, receivers.ReasonOf(err), "the message cannot be read: "+err.Error())
}

// put gives back what w has charged, and keeps w for further requests, unless it is large.
func (s *server) put(w *work) {
	w.release()
	if cap(w.body)+cap(w.keys)+cap(w.samples)*24+cap(w.series)*96+cap(w.symbols)*8+cap(w.texts)*8+cap(w.metadata)*80 <= keptBytes {
		s.works.Put(w)
	}
}

func (w *work) decode(version int) error {
	if w.version = version; version == 2 {
		return w.decode2()
	}
	return w.decode1()
}

// versionOf returns the version of a request by its content type, or what is wrong with it. Senders
// of 1.0 may leave both headers out.
func versionOf(r *http.Request) (version int, wrong string) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "snappy") {
		return 0, "the encoding " + strconv.QuoteToASCII(e) + " is not snappy"
	}
	t := r.Header.Get("Content-Type")
	if t == "" {
		return 1, ""
	}
	media, params, err := mime.ParseMediaType(t)
	if err == nil && media == "application/x-protobuf" {
		switch params["proto"] {
		case "", "prometheus.WriteRequest":
			return 1, ""
		case message2:
			return 2, ""
		}
	}
	return 0, "the content type " + strconv.QuoteToASCII(t) + " is not known: want application/x-protobuf, with proto=prometheus.WriteRequest or proto=" + message2
}

// bad answers a request that is not stored and must not be sent again.
func (s *server) bad(rw http.ResponseWriter, r *http.Request, status int, why receivers.Reason, text string) {
	s.Drop(why, 1)
	s.warn(r, text)
	http.Error(rw, text+".", status)
}

func (s *server) warn(r *http.Request, text string) {
	if ok, held := s.log.Allow(receivers.ClientHost(r), s.cfg.Now()); ok {
		s.cfg.Logger.Warn("remotewrite: not all is stored", "from", r.RemoteAddr, "why", text, "held_back_lines", held)
	}
}

// answer says what became of the samples of w.
func (s *server) answer(rw http.ResponseWriter, r *http.Request, w *work, version int) {
	for why, n := range w.dropped {
		if n > 0 {
			s.Drop(receivers.Reason(why), uint64(n))
		}
	}
	if version == 2 {
		h := rw.Header()
		h.Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(len(w.samples)-w.refusals.samples))
		h.Set("X-Prometheus-Remote-Write-Histograms-Written", "0")
		h.Set("X-Prometheus-Remote-Write-Exemplars-Written", "0")
	}
	switch {
	case w.again:
		receivers.TryAgain(rw, w.why)
	case len(w.reported) > 0:
		text := w.text(len(w.samples))
		s.warn(r, text)
		http.Error(rw, strings.TrimSpace(text), http.StatusBadRequest)
	default:
		rw.WriteHeader(http.StatusNoContent)
	}
}
