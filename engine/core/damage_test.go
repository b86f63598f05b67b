package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

func TestDamageErrorNamesPlace(t *testing.T) {
	cause := errors.New("checksum does not match")
	var err error = fmt.Errorf("fetch: %w", &core.DamageError{
		Bucket: "rows", Key: []byte{0, 1}, Place: "group 3", Series: "web1/load",
		Step: 10, From: 1_000_000_000, To: 1_000_003_600, Err: cause,
	})
	if !errors.Is(err, core.ErrDamaged) || !errors.Is(err, cause) {
		t.Errorf("%v is neither ErrDamaged nor its cause", err)
	}
	want := `fetch: series "web1/load": 10 s rows from 2001-09-09 01:46:40Z to 2001-09-09 02:46:40Z are damaged: rows 0001 (group 3): checksum does not match`
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	err = &core.DamageError{Bucket: "names", Key: []byte("web1/load"), Err: cause}
	if want := `damaged: names "web1/load": checksum does not match`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if err := (&core.DamageError{Err: cause}); !strings.Contains(err.Error(), "rondo.bolt") {
		t.Errorf("%q does not name the file", err)
	}
}
