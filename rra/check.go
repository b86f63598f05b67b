package rra

import (
	"fmt"
	"math"

	"github.com/rondo-db/rondo/internal/text"
)

// check validates d, except for its expressions.
func (d *Definition) check() error {
	if err := checkStep(d.Step); err != nil {
		return err
	}
	switch {
	case len(d.Sources) == 0:
		return &FieldError{"ds", "a series needs a data source"}
	case len(d.Archives) == 0:
		return &FieldError{"rra", "a series needs an archive"}
	}
	if err := checkCounts(len(d.Sources), len(d.Archives)); err != nil {
		return err
	}
	names := make(map[string]bool, len(d.Sources))
	for i := range d.Sources {
		if err := d.Sources[i].check(i); err != nil {
			return err
		}
		if names[d.Sources[i].Name] {
			return &FieldError{fmt.Sprintf("ds[%d].name", i), fmt.Sprintf("%q is there twice", d.Sources[i].Name)}
		}
		names[d.Sources[i].Name] = true
	}
	for i := range d.Archives {
		if err := d.checkArchive(i); err != nil {
			return err
		}
	}
	return d.checkSize()
}

func (s *DataSource) check(i int) error {
	field := func(name, format string, args ...any) error {
		return &FieldError{fmt.Sprintf("ds[%d].%s", i, name), fmt.Sprintf(format, args...)}
	}
	switch {
	case s.Name == "":
		return field("name", "is empty")
	case len(s.Name) > MaxName:
		return field("name", "is %d bytes long, at most %d are possible", len(s.Name), MaxName)
	case len(s.Expr) > MaxExpression:
		return field("expr", "is %d bytes long, at most %d are possible", len(s.Expr), MaxExpression)
	case text.Check(s.Name) != nil:
		return field("name", "%.40q %v", s.Name, text.Check(s.Name))
	case text.Check(s.Expr) != nil:
		return field("expr", "%v", text.Check(s.Expr))
	case s.Kind > Compute:
		return field("kind", "%d is none", s.Kind)
	case s.Kind == Compute:
		return nil
	case s.Heartbeat < 1 || s.Heartbeat > maxHeartbeat:
		return field("heartbeat", "%d is not in 1..%d", s.Heartbeat, int64(maxHeartbeat))
	case s.Min >= s.Max:
		return field("min", "%v is not below the maximum %v", s.Min, s.Max)
	}
	return nil
}

func (d *Definition) checkArchive(i int) error {
	a := &d.Archives[i]
	field := func(name, format string, args ...any) error {
		return &FieldError{fmt.Sprintf("rra[%d].%s", i, name), fmt.Sprintf(format, args...)}
	}
	switch {
	case a.CF > Failures:
		return field("cf", "%d is none", a.CF)
	case a.Rows < 1 || a.Rows > MaxRows:
		return field("rows", "%d is not in 1..%d", a.Rows, int64(MaxRows))
	case a.PDPs < 1 || a.PDPs > maxPDPs:
		return field("pdps", "%d is not in 1..%d", a.PDPs, int64(maxPDPs))
	case a.PDPs > maxRowTime/d.Step:
		return field("pdps", "a row of %d steps of %d s is too long", a.PDPs, d.Step)
	}
	if a.Own && !(a.CF.classical() && a.PDPs == 1) {
		return field("own", "is for one PDP a row of AVERAGE, MIN, MAX or LAST")
	}
	if a.CF.classical() {
		if !(a.XFF >= 0 && a.XFF < 1) {
			return field("xff", "%v is not in [0,1)", a.XFF)
		}
		return nil
	}
	if a.PDPs != 1 {
		return field("pdps", "%d, must be 1", a.PDPs)
	}
	return d.checkHoltWinters(i, field)
}

func (d *Definition) checkHoltWinters(i int, field func(name, format string, args ...any) error) error {
	a := &d.Archives[i]
	if a.Partner < 0 || a.Partner >= len(d.Archives) || a.Partner == i {
		return field("partner", "%d is not another archive", a.Partner)
	}
	p := &d.Archives[a.Partner]
	unit := func(f float64) bool { return f >= 0 && f <= 1 && !math.IsNaN(f) }
	switch a.CF {
	case HWPredict, MHWPredict:
		switch {
		case !unit(a.Alpha):
			return field("alpha", "%v is not in [0,1]", a.Alpha)
		case !unit(a.Beta):
			return field("beta", "%v is not in [0,1]", a.Beta)
		case p.CF != Seasonal:
			return field("partner", "archive %d is not SEASONAL", a.Partner)
		}
	case Seasonal, DevSeasonal:
		switch {
		case !unit(a.Gamma):
			return field("gamma", "%v is not in [0,1]", a.Gamma)
		case !unit(a.SmoothingWindow) && !math.IsNaN(a.SmoothingWindow):
			return field("smoothing-window", "%v is not in [0,1]", a.SmoothingWindow)
		case p.CF != HWPredict && p.CF != MHWPredict:
			return field("partner", "archive %d is not HWPREDICT or MHWPREDICT", a.Partner)
		case d.checkPartner(a.Partner) != nil:
			return field("partner", "archive %d has no SEASONAL archive of its own", a.Partner)
		}
	case DevPredict, Failures:
		if p.CF != DevSeasonal {
			return field("partner", "archive %d is not DEVSEASONAL", a.Partner)
		}
		if a.CF == Failures {
			switch {
			case a.Window < 1 || a.Window > maxWindow:
				return field("window", "%d is not in 1..%d", a.Window, maxWindow)
			case a.Threshold < 1 || a.Threshold > a.Window:
				return field("threshold", "%d is not in 1..%d", a.Threshold, a.Window)
			}
		}
	}
	return nil
}

// checkPartner returns an error unless the partner of archive i, a predictor, is a SEASONAL
// archive.
func (d *Definition) checkPartner(i int) error {
	p := d.Archives[i].Partner
	if p < 0 || p >= len(d.Archives) || d.Archives[p].CF != Seasonal {
		return &FieldError{fmt.Sprintf("rra[%d].partner", i), fmt.Sprintf("archive %d is not SEASONAL", p)}
	}
	return nil
}

func checkStep(step int64) error {
	if step < 1 || step > maxStep {
		return &FieldError{"step", fmt.Sprintf("%d is not in 1..%d", step, int64(maxStep))}
	}
	return nil
}
