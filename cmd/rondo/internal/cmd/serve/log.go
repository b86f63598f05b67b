package serve

import (
	"log/slog"
	"strings"
)

// logger returns the log of the server.
func (s *Settings) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.level)) // the flag has no others
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: shorten}
	if s.json {
		return slog.New(slog.NewJSONHandler(s.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(s.Stderr, o))
}

// maxLogged bounds one value in a log line, in bytes, because any sender can choose names and
// texts.
const maxLogged = 1024

// shorten cuts a long value of a log line.
func shorten(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			text = err.Error()
		}
	}
	if len(text) > maxLogged {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:maxLogged], "") + "…")
	}
	return a
}
