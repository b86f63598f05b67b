package attime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// isoForms are the forms that FromISO reads, without a zone.
var isoForms = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// FromISO converts an ISO time (2026-11-20, 2026-11-20T15:04:05, 2026-11-20T15:04:05Z, RFC 3339) to
// seconds since 1970, a text that [Parse] reads. A time without a zone is in location. Other texts
// are returned unchanged. rrdtool does not accept ISO times, so use FromISO only for times that are
// not rrdtool's.
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
