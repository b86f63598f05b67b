package attime

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PairISO is [ParsePair] for times that [FromISO] reads, in the location of now.
func PairISO(start, end string, now time.Time) (a, b int64, err error) {
	if start, err = FromISO(start, now.Location()); err != nil {
		return 0, 0, fmt.Errorf("start time: %w", err)
	}
	if end, err = FromISO(end, now.Location()); err != nil {
		return 0, 0, fmt.Errorf("end time: %w", err)
	}
	return ParsePair(start, end, now)
}

// InstantISO is [Instant] for a time that [FromISO] reads, in the location of now.
func InstantISO(text string, now time.Time) (int64, error) {
	text, err := FromISO(text, now.Location())
	if err != nil {
		return 0, err
	}
	return Instant(text, now)
}

var isoForms = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// FromISO converts an ISO time (2026-11-20, 2026-11-20T15:04:05, 2026-11-20T15:04:05Z, RFC 3339) to
// seconds since 1970, and the word today, yesterday or tomorrow to its midnight, as texts that
// [Parse] reads. A time without a zone is in location. Other texts are returned unchanged. rrdtool
// accepts neither, so use FromISO only for times that are not rrdtool's.
func FromISO(text string, location *time.Location) (string, error) {
	switch {
	case text == "today", text == "yesterday", text == "tomorrow":
		return "midnight " + text, nil
	case len(text) < len(isoForms[0]) || strings.Trim(text[:4], "0123456789") != "" || text[4] != '-':
		return text, nil
	}
	for _, form := range isoForms {
		for _, layout := range []string{form, form + "Z07:00"} {
			if at, err := time.ParseInLocation(layout, text, location); err == nil {
				return strconv.FormatInt(at.Unix(), 10), nil
			}
		}
	}
	return "", fmt.Errorf("'%s' is no time", strings.Trim(fmt.Sprintf("%.100q", text), `"`))
}
