package rrdtool_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A dying is a context that ends when it has been asked so many times whether it has ended.
type dying struct {
	context.Context
	left int
}

func (d *dying) Err() error {
	if d.left--; d.left < 0 {
		return context.Canceled
	}
	return nil
}

type noSeries struct{}

func (noSeries) Open(context.Context, string, string) (query.Store, core.Ref, error) {
	return nil, 0, core.ErrNotFound
}

// TestSketchEndsWithItsContext: a drawing ends wherever its context ends, and a picture that is not
// whole is never returned.
func TestSketchEndsWithItsContext(t *testing.T) {
	for asked := range 2000 {
		s, err := rrdtool.NewSketch(&rrdtool.Env{}, []string{"--title", "a", "LINE:5#ff0000:five", "AREA:3#00ff00:three"}, rrdtool.Wish{})
		if err != nil {
			t.Fatal(err)
		}
		picture, err := s.Draw(&dying{t.Context(), asked}, noSeries{}, rrdtool.Most{})
		if err == nil && len(picture) > 0 {
			if asked < 10 {
				t.Errorf("a whole drawing asks %d times whether it should end", asked)
			}
			return
		}
		if picture != nil || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d questions: %d bytes, %v", asked, len(picture), err)
		}
	}
	t.Error("the drawing never ends")
}

func TestSketchSaysWhatIsWrong(t *testing.T) {
	if _, err := rrdtool.NewSketch(&rrdtool.Env{}, []string{"LIME:5"}, rrdtool.Wish{}); err == nil {
		t.Error("a wrong line is taken")
	}
	s, err := rrdtool.NewSketch(&rrdtool.Env{}, []string{"COMMENT:x"}, rrdtool.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Draw(t.Context(), noSeries{}, rrdtool.Most{}); !errors.Is(err, rrdtool.ErrNothing) {
		t.Errorf("a graph of a comment: %v", err)
	}
	if s, err = rrdtool.NewSketch(&rrdtool.Env{}, []string{"LINE:5"}, rrdtool.Wish{}); err != nil {
		t.Fatal(err)
	}
	var size *rrdtool.SizeError
	if _, err := s.Draw(t.Context(), noSeries{}, rrdtool.Most{Pixels: 1000}); !errors.As(err, &size) {
		t.Errorf("a picture of 1,000 pixels: %v", err)
	}
	for _, format := range []string{"SVG", "PDF", "EPS"} {
		if s, err = rrdtool.NewSketch(&rrdtool.Env{}, []string{"-a", format, "LINE:5#ff0000"}, rrdtool.Wish{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Draw(t.Context(), noSeries{}, rrdtool.Most{Bytes: 1000}); !errors.As(err, &size) || size.Bytes != 1000 {
			t.Errorf("%s of 1,000 bytes: %v", format, err)
		}
	}
}
