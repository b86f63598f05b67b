package core

import (
	"fmt"
	"path"
	"strings"

	"github.com/rondo-db/rondo/internal/text"
)

const suffix = ".rrd"

// nameKey returns the look-up key of a path: the path without a trailing .rrd.
func nameKey(p string) string { return strings.TrimSuffix(p, suffix) }

// cleanPath returns the look-up key and the cleaned form of a path, which has no leading slash and
// no "." or empty component. It refuses a path that leads above the top. Names come into the store
// through newPath and checkLabels alone. So a name is UTF-8 without control characters wherever it
// is printed, sent or quoted. cleanPath takes hidden ones: older stores have such names.
func cleanPath(p string) (key, clean string, err error) {
	clean = path.Clean(strings.TrimLeft(p, "/"))
	switch {
	case len(p) > MaxPath:
		return "", "", invalid("path of %d bytes: at most %d are possible", len(p), MaxPath)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", "", invalid("path %.200q leaves the store", p)
	}
	if err := text.Printable(p); err != nil {
		return "", "", invalid("path %.200q %w", p, err)
	}
	key = nameKey(clean)
	if clean == "." || key == "" || strings.HasSuffix(key, "/") {
		return "", "", invalid("path %.200q names no series", p)
	}
	return key, clean, nil
}

// newPath is cleanPath for a path that a series is to get.
func newPath(p string) (key, clean string, err error) {
	key, clean, err = cleanPath(p)
	if err == nil {
		if wrong := text.Check(p); wrong != nil {
			err = invalid("path %.200q %w", p, wrong)
		}
	}
	return key, clean, err
}

// CleanPath returns the look-up key of a path and the path as a series has it: without leading
// slashes and "." or empty components. The key lacks a trailing .rrd as well. The error wraps
// ErrInvalid if no series can have the path.
func CleanPath(path string) (key, clean string, err error) { return cleanPath(path) }

// Lookup returns the series of a path. A trailing .rrd may be left out or added. The error wraps
// ErrNotFound if the path is no series.
func (s *Store) Lookup(p string) (Ref, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	key, _, err := cleanPath(p)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	ref, err := s.catalogue.lookup(key)
	if err == nil {
		s.catalogue.awaitArrival(ref)
	}
	return ref, err
}

// Series returns the catalogue entry of a reference.
func (s *Store) Series(ref Ref) (Series, error) {
	if err := s.enter(); err != nil {
		return Series{}, err
	}
	defer s.leave()
	rec, err := s.catalogue.record(ref)
	if err != nil {
		return Series{}, err
	}
	return s.catalogue.seriesOf(ref, rec), nil
}
