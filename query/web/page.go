package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"connectrpc.com/connect"
)

// A page is what one address shows.
type page struct {
	title string
	code  int    // the status; 0 means 200
	name  string // of the template of the plain content
	data  any    // for the template
}

// plain returns the content for readers without script.
func (p *page) plain() template.HTML {
	var b strings.Builder
	if err := plain().ExecuteTemplate(&b, p.name, p.data); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(err.Error()) + "</p>")
	}
	return template.HTML(b.String())
}

// call calls a method of the service Rondo on behalf of a page.
func call[Q, A any](ctx context.Context, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), message *Q) (*A, error) {
	answer, err := method(ctx, connect.NewRequest(message))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// problem returns what a page says of an error; empty if there is none, or if this program lacks
// the method.
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
	}
	return http.StatusInternalServerError
}
