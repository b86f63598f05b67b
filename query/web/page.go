package web

import (
	"context"
	"errors"
	"html"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/internal/template"
)

// A page is what one address shows.
type page struct {
	title string
	code  int    // the status; 0 means 200
	name  string // of the template of the plain content
	data  any    // for the template

	answers []answer // that the script of the page begins with
}

// plain returns the content for readers without script.
func (p *page) plain() template.HTML {
	var b strings.Builder
	if err := plain().Execute(&b, p.name, p.data); err != nil {
		return template.HTML("<p>" + html.EscapeString(err.Error()) + "</p>")
	}
	return template.HTML(b.String())
}

// begin calls a method for a page, and writes the answer into the page for the script.
func begin[Q, A any](ctx context.Context, p *page, name string, method func(context.Context, *Q) (*A, error), message *Q) (*A, error) {
	got, err := method(ctx, message)
	if ctx.Err() == nil { // or the error is of this page, and the script may have better luck
		p.answers = append(p.answers, answerOf(name, any(message).(proto.Message), any(got).(proto.Message), err))
	}
	return got, err
}

// problem returns what a page says of an error. It is empty without an error, and if this program
// lacks the method.
func problem(err error) string {
	if err == nil || connect.CodeOf(err) == connect.CodeUnimplemented {
		return ""
	}
	var c *connect.Error
	if errors.As(err, &c) {
		return c.Message()
	}
	return err.Error()
}

// codeOf returns the status of a page that could not be made because of err.
func codeOf(err error) int {
	switch connect.CodeOf(err) {
	case connect.CodePermissionDenied:
		return http.StatusForbidden
	case connect.CodeNotFound:
		return http.StatusNotFound
	case connect.CodeInvalidArgument:
		return http.StatusBadRequest
	case connect.CodeFailedPrecondition:
		return http.StatusConflict
	case connect.CodeUnavailable, connect.CodeResourceExhausted:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
