package rra

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// The parameters of a FAILURES archive that a predictor adds. All FAILURES archives have the
// default delta until they are tuned.
const (
	defaultThreshold = 7
	defaultWindow    = 9
	defaultDelta     = 2
)

// maxFields is how many fields of an archive rrdtool reads, its CF included.
const maxFields = 6

// An archiveText is an archive that is being parsed, field by field.
type archiveText struct {
	Archive
	period uint64 // HWPREDICT, MHWPREDICT
	linked bool   // HWPREDICT, MHWPREDICT: rra-num was given
}

// ParseArchive parses one archive, RRA:CF:…, of a series with a step in seconds. The Partner of a
// HWPREDICT or MHWPREDICT archive without an rra-num is -1: only [ParseDefinition] adds the
// archives that it implies.
func ParseArchive(arg string, step int64) (Archive, error) {
	if err := checkStep(step); err != nil {
		return Archive{}, err
	}
	t, err := parseArchive(arg, step)
	return t.Archive, err
}

// addArchive adds an archive, and the archives that it implies.
func (d *Definition) addArchive(arg string) error {
	t, err := parseArchive(arg, d.Step)
	if err != nil {
		return err
	}
	predictor := t.CF == HWPredict || t.CF == MHWPredict
	if !predictor || t.linked {
		d.Archives = append(d.Archives, t.Archive)
		return nil
	}
	if t.period == 0 {
		return &FieldError{fmt.Sprintf("rra[%d].period", len(d.Archives)), "must be positive"}
	}
	base := len(d.Archives)
	period := int64(t.period)
	t.Partner = base + 1
	d.Archives = append(d.Archives, t.Archive,
		newArchive(Seasonal, period, base), newArchive(DevSeasonal, period, base),
		newArchive(DevPredict, t.Rows, base+2), newArchive(Failures, period, base+2))
	for i := base + 1; i <= base+2; i++ {
		d.Archives[i].Gamma = t.Alpha
	}
	d.Archives[base+4].Threshold = defaultThreshold
	d.Archives[base+4].Window = defaultWindow
	return nil
}

// newArchive returns an archive of the Holt-Winters family.
func newArchive(cf CF, rows int64, partner int) Archive {
	a := Archive{CF: cf, PDPs: 1, Rows: rows, Partner: partner}
	switch cf {
	case Seasonal, DevSeasonal:
		a.SmoothingWindow = math.NaN()
	case Failures:
		a.DeltaPos, a.DeltaNeg = defaultDelta, defaultDelta
	}
	return a
}

// parseArchive parses RRA:CF:…. As in rrdtool, it ignores empty fields.
func parseArchive(arg string, step int64) (archiveText, error) {
	fields := strings.FieldsFunc(strings.TrimPrefix(arg, "RRA:"), func(r rune) bool { return r == ':' })
	if len(fields) == 0 {
		return archiveText{}, refuse("Expected at least 4 arguments for RRA but got 0")
	}
	// The name of the CF ends at the first character that is not a capital letter.
	name := fields[0]
	if i := strings.IndexFunc(name, func(r rune) bool { return r < 'A' || r > 'Z' }); i >= 0 {
		name = name[:i]
	}
	name = name[:min(len(name), 19)]
	cf, err := ParseCF(name)
	if err != nil {
		return archiveText{}, refuse("Unrecognized consolidation function %s", name)
	}
	t := archiveText{Archive: newArchive(cf, 0, -1)}
	for i, field := range fields[1:] {
		if i+1 >= maxFields && len(fields) > maxFields {
			return archiveText{}, refuse("Unknown error")
		}
		if err := t.set(i+1, field, step); err != nil {
			return archiveText{}, err
		}
	}
	if need := needFields(cf); len(fields) < need {
		return archiveText{}, refuse("Expected at least %d arguments for RRA but got %d", need, len(fields))
	}
	return t, nil
}

// needFields returns how many fields an archive needs, its CF included.
func needFields(cf CF) int {
	switch cf {
	case HWPredict, MHWPredict, Failures:
		return 5
	case DevPredict, DevSeasonal:
		return 3
	}
	return 4
}

// set parses field i of an archive. Field 0 is its CF.
func (t *archiveText) set(i int, field string, step int64) error {
	if t.CF.classical() {
		return t.setClassical(i, field, step)
	}
	if i == 1 {
		return t.setRows(field, step)
	}
	switch t.CF {
	case HWPredict, MHWPredict:
		return t.setPredictor(i, field)
	case Seasonal, DevSeasonal:
		return t.setSeasonal(i, field)
	case Failures:
		return t.setFailures(i, field)
	}
	if i > 2 {
		return t.extra()
	}
	t.Partner = leadingInt(field) - 1
	return nil
}

func (t *archiveText) extra() error {
	return refuse("Unexpected extra argument for consolidation function %s", t.CF)
}

func (t *archiveText) setClassical(i int, field string, step int64) error {
	switch i {
	case 1:
		v, err := parseExact(field)
		if err != nil || v < 0 || v >= 1 {
			return refuse("Invalid xff: must be between 0 and 1")
		}
		t.XFF = v
	case 2:
		v, err := ParseScaled(field, step)
		if err != nil {
			return archiveError("Invalid step", field, "pdps", err)
		}
		t.PDPs = v
	case 3:
		if t.PDPs > maxRowTime/step {
			return &FieldError{"pdps", fmt.Sprintf("a row of %d steps of %d s is too long", t.PDPs, step)}
		}
		return t.setRows(field, step*t.PDPs)
	default:
		return t.extra()
	}
	return nil
}

func (t *archiveText) setRows(field string, divisor int64) error {
	v, err := ParseScaled(field, divisor)
	if err != nil {
		return archiveError("Invalid row count", field, "rows", err)
	}
	t.Rows = v
	return nil
}

// archiveError turns an error of ParseScaled into one of an archive.
func archiveError(what, field, name string, err error) error {
	var own *FieldError
	if errors.As(err, &own) {
		return &FieldError{name, own.Err}
	}
	return refuse("%s %s: %v", what, field, err)
}

func (t *archiveText) setPredictor(i int, field string) error {
	switch i {
	case 2, 3:
		v, err := parseExact(field)
		if i == 2 {
			if err != nil || v <= 0 || v >= 1 {
				return refuse("Invalid alpha: must be between 0 and 1")
			}
			t.Alpha = v
			return nil
		}
		if err != nil || v < 0 || v > 1 {
			return refuse("Invalid beta: must be between 0 and 1")
		}
		t.Beta = v
	case 4:
		t.period = uint64(leadingInt(field))
		if t.period > uint64(t.Rows) {
			return refuse("Length of seasonal cycle exceeds length of HW prediction array")
		}
	case 5:
		t.linked = true
		t.Partner = leadingInt(field) - 1
	}
	return nil
}

func (t *archiveText) setSeasonal(i int, field string) error {
	switch i {
	case 2:
		v, err := parseExact(field)
		if err != nil || v <= 0 || v >= 1 {
			return refuse("Invalid gamma: must be between 0 and 1")
		}
		t.Gamma = v
	case 3:
		t.Partner = leadingInt(field) - 1
	case 4:
		return t.setOption(field)
	case 5: // rrdtool takes the last
		t.Partner = leadingInt(field) - 1
	}
	return nil
}

// setOption parses smoothing-window=f. As in rrdtool, a text that ends before the number, even in
// the middle of the name, is valid and has no effect.
func (t *archiveText) setOption(field string) error {
	const name = "smoothing-window="
	text, ok := strings.CutPrefix(field, name)
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if strings.HasPrefix(name, field) || ok && text == "" {
		return nil
	}
	v, n := scanFloat(text)
	switch {
	case !ok || n == 0:
		return refuse("Invalid option %s", field)
	case v < 0 || v > 1:
		return refuse("Invalid smoothing-window %s: must be between 0 and 1", printf(v))
	case math.IsNaN(v):
		return &FieldError{"smoothing-window", "is not a number"}
	}
	t.SmoothingWindow = v
	return nil
}

func (t *archiveText) setFailures(i int, field string) error {
	switch i {
	case 2:
		t.Threshold = leadingInt(field)
		if t.Threshold < 1 || t.Threshold > maxWindow {
			return refuse("Failure threshold is out of range 1, %d", maxWindow)
		}
	case 3:
		t.Window = leadingInt(field)
		switch {
		case uint(t.Window) < uint(t.Threshold): // a negative one is too long
			return refuse("Window length is shorter than the failure threshold")
		case t.Window < 1 || t.Window > maxWindow:
			return refuse("Window length is out of range 1, %d", maxWindow)
		}
	case 4, 5: // rrdtool takes the last
		t.Partner = leadingInt(field) - 1
	}
	return nil
}
