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
	words := strings.FieldsFunc(strings.TrimPrefix(arg, "RRA:"), func(r rune) bool { return r == ':' })
	if len(words) == 0 {
		return archiveText{}, refuse("Expected at least 4 arguments for RRA but got 0")
	}
	// The name of the CF ends at the first character that is not a capital letter.
	name := words[0]
	if i := strings.IndexFunc(name, func(r rune) bool { return r < 'A' || r > 'Z' }); i >= 0 {
		name = name[:i]
	}
	name = name[:min(len(name), 19)]
	cf, err := ParseCF(name)
	if err != nil {
		return archiveText{}, refuse("Unrecognized consolidation function %s", name)
	}
	t := archiveText{Archive: newArchive(cf, 0, -1)}
	fields, need := fieldsOf(cf)
	for i, word := range words[1:] {
		switch {
		case i+1 >= maxFields:
			err = refuse("Unknown error")
		case i >= len(fields):
			err = refuse("Unexpected extra argument for consolidation function %s", cf)
		default:
			err = fields[i](&t, word, step)
		}
		if err != nil {
			return archiveText{}, err
		}
	}
	if len(words) < need {
		return archiveText{}, refuse("Expected at least %d arguments for RRA but got %d", need, len(words))
	}
	return t, nil
}

// An archiveField parses one field of an archive of a series with a step in seconds.
type archiveField func(t *archiveText, word string, step int64) error

// fieldsOf returns the fields behind the CF of an archive, and how many it needs, its CF included.
// rrdtool takes the last of two fields of one meaning.
func fieldsOf(cf CF) (fields []archiveField, need int) {
	rows, partner := (*archiveText).setRows, (*archiveText).setPartner
	switch cf {
	case HWPredict, MHWPredict:
		return []archiveField{rows, alphaField, betaField, (*archiveText).setPeriod, (*archiveText).link}, 5
	case Seasonal, DevSeasonal:
		need = 4
		if cf == DevSeasonal {
			need = 3
		}
		return []archiveField{rows, gammaField, partner, (*archiveText).setOption, partner}, need
	case DevPredict:
		return []archiveField{rows, partner}, 3
	case Failures:
		return []archiveField{rows, (*archiveText).setThreshold, (*archiveText).setWindow, partner, partner}, 5
	}
	return []archiveField{xffField, (*archiveText).setPDPs, rows}, 4
}

// The fields that are numbers between 0 and 1. NaN passes here, and not when the definition is
// checked.
var (
	xffField   = unitField("xff", func(a *Archive) *float64 { return &a.XFF }, func(v float64) bool { return v < 0 || v >= 1 })
	alphaField = unitField("alpha", func(a *Archive) *float64 { return &a.Alpha }, func(v float64) bool { return v <= 0 || v >= 1 })
	betaField  = unitField("beta", func(a *Archive) *float64 { return &a.Beta }, func(v float64) bool { return v < 0 || v > 1 })
	gammaField = unitField("gamma", func(a *Archive) *float64 { return &a.Gamma }, func(v float64) bool { return v <= 0 || v >= 1 })
)

func unitField(name string, of func(*Archive) *float64, outside func(v float64) bool) archiveField {
	return func(t *archiveText, word string, _ int64) error {
		v, err := parseExact(word)
		if err != nil || outside(v) {
			return refuse("Invalid %s: must be between 0 and 1", name)
		}
		*of(&t.Archive) = v
		return nil
	}
}

func (t *archiveText) setPDPs(word string, step int64) (err error) {
	if t.PDPs, err = ParseScaled(word, step); err != nil {
		return archiveError("Invalid step", word, "pdps", err)
	}
	return nil
}

func (t *archiveText) setRows(word string, step int64) (err error) {
	if t.PDPs > maxRowTime/step {
		return &FieldError{"pdps", fmt.Sprintf("a row of %d steps of %d s is too long", t.PDPs, step)}
	}
	if t.Rows, err = ParseScaled(word, step*t.PDPs); err != nil {
		return archiveError("Invalid row count", word, "rows", err)
	}
	return nil
}

// archiveError turns an error of ParseScaled into one of an archive.
func archiveError(what, word, name string, err error) error {
	var own *FieldError
	if errors.As(err, &own) {
		return &FieldError{name, own.Err}
	}
	return refuse("%s %s: %v", what, word, err)
}

func (t *archiveText) setPartner(word string, _ int64) error {
	t.Partner = leadingInt(word) - 1
	return nil
}

// link is setPartner of a predictor, which adds no archives then.
func (t *archiveText) link(word string, step int64) error {
	t.linked = true
	return t.setPartner(word, step)
}

func (t *archiveText) setPeriod(word string, _ int64) error {
	if t.period = uint64(leadingInt(word)); t.period > uint64(t.Rows) {
		return refuse("Length of seasonal cycle exceeds length of HW prediction array")
	}
	return nil
}

// setOption parses smoothing-window=f. As in rrdtool, a text that ends before the number, even in
// the middle of the name, is valid and has no effect.
func (t *archiveText) setOption(word string, _ int64) error {
	const name = "smoothing-window="
	text, ok := strings.CutPrefix(word, name)
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if strings.HasPrefix(name, word) || ok && text == "" {
		return nil
	}
	v, n := scanFloat(text)
	switch {
	case !ok || n == 0:
		return refuse("Invalid option %s", word)
	case v < 0 || v > 1:
		return refuse("Invalid smoothing-window %s: must be between 0 and 1", printf(v))
	case math.IsNaN(v):
		return &FieldError{"smoothing-window", "is not a number"}
	}
	t.SmoothingWindow = v
	return nil
}

func (t *archiveText) setThreshold(word string, _ int64) error {
	if t.Threshold = leadingInt(word); t.Threshold < 1 || t.Threshold > maxWindow {
		return refuse("Failure threshold is out of range 1, %d", maxWindow)
	}
	return nil
}

func (t *archiveText) setWindow(word string, _ int64) error {
	t.Window = leadingInt(word)
	switch {
	case uint(t.Window) < uint(t.Threshold): // a negative one is too long
		return refuse("Window length is shorter than the failure threshold")
	case t.Window < 1 || t.Window > maxWindow:
		return refuse("Window length is out of range 1, %d", maxWindow)
	}
	return nil
}
