package attime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// isoForms are the ISO times that FromISO takes, without a zone.
var isoForms = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// FromISO returns an ISO time (2026-11-20, 2026-11-20T15:04:05, 2026-11-20T15:04:05Z, RFC 3339) as
// the number of its seconds since 1970, a form that [Parse] takes. Without a zone the time is one
// of location. Other texts stay as they are. rrdtool does not know such times: use FromISO where a
// time is not rrdtool's.
func FromISO(text string, location *time.Location) (string, error) {
	if len(text) < len(isoForms[0]) || strings.Trim(text[:4], "0123456789") != "" || text[4] != '-' {
		return text, nil
	}
	for _, form := range isoForms {
		if at, err := time.ParseInLocation(form, text, location); err == nil {
			return strconv.FormatInt(at.Unix(), 10), nil
		}
		if at, err := time.Parse(form+"Z07:00", text); err == nil {
			return strconv.FormatInt(at.Unix(), 10), nil
		}
	}
	quoted := fmt.Sprintf("%.100q", text)
	return "", fmt.Errorf("'%s' is no time", quoted[1:len(quoted)-1])
}
