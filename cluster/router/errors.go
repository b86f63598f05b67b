package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

// invalid returns an error that matches core.ErrInvalid and has only the given text, as the errors
// of a core.Store do.
func invalid(format string, args ...any) error {
	return invalidError(fmt.Sprintf(format, args...))
}

type invalidError string

func (e invalidError) Error() string        { return string(e) }
func (e invalidError) Is(target error) bool { return target == core.ErrInvalid }

// notFound says that no series has a reference, as a core.Store does.
func notFound(ref core.Ref) error { return fmt.Errorf("ref %d: %w", ref, core.ErrNotFound) }

// asOuter returns err as an error about the reference that the caller knows. An error that does
// not name a reference stays as it is.
func asOuter(ref core.Ref, err error) error {
	if errors.Is(err, core.ErrNotFound) && strings.HasPrefix(err.Error(), "ref ") {
		return notFound(ref)
	}
	return err
}

// unavailable returns an error that wraps core.ErrUnavailable and has the text of err. A context
// that has ended on the way is not the caller's, so err is not wrapped.
func unavailable(p int, err error) error {
	if errors.Is(err, core.ErrUnavailable) {
		return fmt.Errorf("partition %d: %w", p, err)
	}
	return fmt.Errorf("partition %d: %w: %v", p, core.ErrUnavailable, err)
}

// elsewhere reports whether err says that an engine does not have the partition any more, or has
// not answered, so that another engine is asked.
func elsewhere(err error) bool {
	return errors.Is(err, core.ErrClosed) || errors.Is(err, core.ErrNotLeader) || errors.Is(err, core.ErrUnanswered)
}

// closedHere reports whether err says that this process closes its stores: an engine has said so
// twice. One of another node is only out of reach.
func closedHere(err error, e, last core.Engine) bool {
	return e == last && errors.Is(err, core.ErrClosed) && !errors.Is(err, core.ErrUnanswered)
}

// lost reports whether err says that an engine cannot be reached.
func lost(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrClosed)
}

// within makes the text of an error name the partition that cannot be reached.
func within(p int, err error) error {
	if errors.Is(err, core.ErrUnavailable) {
		return fmt.Errorf("partition %d: %w", p, err)
	}
	return err
}

// join is errors.Join, but an error whose text has come before is left out, and an error alone
// stays as it is.
func join(errs []error) error {
	var kept []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(kept, func(k error) bool { return k.Error() == err.Error() }) {
			kept = append(kept, err)
		}
	}
	if len(kept) < 2 {
		for _, err := range kept {
			return err
		}
		return nil
	}
	return errors.Join(kept...)
}
