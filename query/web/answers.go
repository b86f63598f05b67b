package web

import (
	"encoding/json"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/internal/template"
)

// maxAnswers bounds the answers in one page, in bytes of JSON. What does not fit is left out, and
// the script asks for it.
const maxAnswers = 256 << 10

// An answer is a call of a method and its outcome, written into a page. The script of the page
// takes it in place of a request of its own.
type answer struct {
	Method  string          `json:"method"`
	Message json.RawMessage `json:"message"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

// A refusal is an error as the RPC writes it in JSON.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func answerOf(name string, message, got proto.Message, err error) answer {
	a := answer{Method: name, Message: toJSON(message)}
	var e *connect.Error
	switch {
	case errors.As(err, &e):
		a.Error = &refusal{e.Code().String(), e.Message()}
	case err != nil:
		a.Error = &refusal{connect.CodeUnknown.String(), err.Error()}
	default:
		a.Answer = toJSON(got)
	}
	return a
}

// toJSON returns a message as the RPC sends it, or nil if it cannot be sent: a text is not UTF-8.
func toJSON(m proto.Message) json.RawMessage {
	data, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	return data
}

// written returns answers as JSON for a script element. No text in it can end that element, because
// json escapes < and >.
func written(all []answer) template.HTML {
	var whole []answer
	size := 0
	for _, a := range all {
		if size += len(a.Message) + len(a.Answer); size > maxAnswers {
			break
		}
		if a.Message != nil && (a.Answer != nil || a.Error != nil) {
			whole = append(whole, a)
		}
	}
	if whole == nil {
		return ""
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return ""
	}
	return template.HTML(data)
}
