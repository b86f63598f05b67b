package otlp

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// A form is how a request and its answer are written.
type form int

const (
	binaryForm form = iota // protobuf
	jsonForm
)

func formOf(contentType string) (f form, ok bool) {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, false
	}
	switch t {
	case "application/x-protobuf":
		return binaryForm, true
	case "application/json":
		return jsonForm, true
	}
	return 0, false
}

// toBinary returns a message in JSON as protobuf. MetricsData is the same as an
// ExportMetricsServiceRequest.
func toBinary(b []byte) ([]byte, error) {
	var m metrics.MetricsData
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, &m); err != nil {
		return nil, err
	}
	return proto.Marshal(&m)
}

// answer says what has become of the values.
func (e *export) answer(w http.ResponseWriter, f form) {
	rejected := min(e.rejected, e.points)
	text := strings.Join(e.told, "; ")
	if rejected > 0 && rejected == e.points {
		f.status(w, http.StatusBadRequest, text)
		return
	}
	var body []byte
	switch {
	case f == binaryForm && text != "":
		var partial []byte
		if rejected > 0 {
			partial = protowire.AppendTag(partial, 1, protowire.VarintType)
			partial = protowire.AppendVarint(partial, uint64(rejected))
		}
		partial = protowire.AppendTag(partial, 2, protowire.BytesType)
		partial = protowire.AppendString(partial, text)
		body = protowire.AppendTag(body, 1, protowire.BytesType)
		body = protowire.AppendBytes(body, partial)
	case f == jsonForm && text != "":
		partial := map[string]string{"errorMessage": text}
		if rejected > 0 {
			partial["rejectedDataPoints"] = strconv.FormatInt(rejected, 10)
		}
		body = marshal(map[string]any{"partialSuccess": partial})
	case f == jsonForm:
		body = []byte("{}")
	}
	f.reply(w, http.StatusOK, body)
}

// The codes of google.rpc.Status.
const (
	codeInvalid     = 3
	codeExhausted   = 8
	codeUnavailable = 14
)

// status answers with a google.rpc.Status.
func (f form) status(w http.ResponseWriter, status int, what string) {
	code := uint64(codeInvalid)
	switch status {
	case http.StatusServiceUnavailable:
		code = codeUnavailable
	case http.StatusRequestEntityTooLarge:
		code = codeExhausted
	}
	var body []byte
	if f == jsonForm {
		body = marshal(map[string]any{"code": code, "message": what})
	} else {
		body = protowire.AppendTag(body, 1, protowire.VarintType)
		body = protowire.AppendVarint(body, code)
		body = protowire.AppendTag(body, 2, protowire.BytesType)
		body = protowire.AppendString(body, strings.ToValidUTF8(what, "\uFFFD"))
	}
	f.reply(w, status, body)
}

// reply answers with a body.
func (f form) reply(w http.ResponseWriter, status int, body []byte) {
	t := "application/x-protobuf"
	if f == jsonForm {
		t = "application/json"
	}
	w.Header().Set("Content-Type", t)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// marshal returns v in JSON.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // texts and numbers are always possible
		return []byte("{}")
	}
	return b
}
