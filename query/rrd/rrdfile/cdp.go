package rrdfile

import "github.com/rondo-db/rondo/rra"

// A cdpField is a number in a CDP, the state of one archive and one data source: its element in a
// dump, the index of its parameter in a native file, and its field, which is a double or a long.
type cdpField struct {
	name   string
	at     int
	double func(*rra.CDP) *float64
	long   func(*rra.CDP) *int64
}

var (
	cdpBoth = []cdpField{
		{"primary_value", 8, func(c *rra.CDP) *float64 { return &c.Primary }, nil},
		{"secondary_value", 9, func(c *rra.CDP) *float64 { return &c.Secondary }, nil},
	}
	cdpPredict = append(cdpBoth[:2:2],
		cdpField{"intercept", 2, func(c *rra.CDP) *float64 { return &c.Intercept }, nil},
		cdpField{"last_intercept", 3, func(c *rra.CDP) *float64 { return &c.LastIntercept }, nil},
		cdpField{"slope", 4, func(c *rra.CDP) *float64 { return &c.Slope }, nil},
		cdpField{"last_slope", 5, func(c *rra.CDP) *float64 { return &c.LastSlope }, nil},
		cdpField{"nan_count", 6, nil, func(c *rra.CDP) *int64 { return &c.NullCount }},
		cdpField{"last_nan_count", 7, nil, func(c *rra.CDP) *int64 { return &c.LastNullCount }})
	cdpSeason = append(cdpBoth[:2:2],
		cdpField{"seasonal", 2, func(c *rra.CDP) *float64 { return &c.Seasonal }, nil},
		cdpField{"last_seasonal", 3, func(c *rra.CDP) *float64 { return &c.LastSeasonal }, nil},
		cdpField{"init_flag", 6, nil, func(c *rra.CDP) *int64 { return &c.InitFlag }})
	cdpPlain = append(cdpBoth[:2:2],
		cdpField{"value", 0, func(c *rra.CDP) *float64 { return &c.Value }, nil},
		cdpField{"unknown_datapoints", 1, nil, func(c *rra.CDP) *int64 { return &c.Unknown }})
)

// cdpFields are the numbers of a CDP by the CF of its archive, in the order of a dump. The history
// of FAILURES, a byte a PDP from the first parameter on, is no number.
var cdpFields = [...][]cdpField{
	rra.Average: cdpPlain, rra.Min: cdpPlain, rra.Max: cdpPlain, rra.Last: cdpPlain,
	rra.HWPredict: cdpPredict, rra.MHWPredict: cdpPredict, rra.Seasonal: cdpSeason, rra.DevSeasonal: cdpSeason,
	rra.DevPredict: cdpPlain[:3], rra.Failures: cdpBoth,
}

// cdpElements are the elements of a CDP in a dump.
var cdpElements = func() map[string]cdpField {
	m := make(map[string]cdpField)
	for _, fields := range cdpFields {
		for _, x := range fields {
			m[x.name] = x
		}
	}
	return m
}()
