package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/receivers"
)

// A ByteSize is a number of bytes, with K, M, G or T for powers of 1024.
type ByteSize int64

const sizeUnits = "KMGT"

func (b *ByteSize) Type() string { return "bytes" }

func (b *ByteSize) String() string {
	n, unit := int64(*b), ""
	for i := 0; i < len(sizeUnits) && n != 0 && n%1024 == 0; i++ {
		n, unit = n/1024, sizeUnits[i:i+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

func (b *ByteSize) Set(text string) error {
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if n := len(digits); n > 0 {
		if i := strings.IndexByte(sizeUnits, digits[n-1]); i >= 0 {
			digits, shift = digits[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return errors.New("want a number of bytes: 512M, 4G")
	}
	*b = ByteSize(n << shift)
	return nil
}

// A Duration is the value of a flag for a time span, given in seconds or with a unit.
type Duration time.Duration

func (d *Duration) Type() string { return "duration" }

// String leaves out minutes and seconds that are 0: 1h, not 1h0m0s.
func (d *Duration) String() string {
	text := time.Duration(*d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (d *Duration) Set(text string) error {
	v, err := receivers.ParseDuration(text)
	if err != nil {
		return errors.New("want 90 (seconds), 500ms, 90s, 15m, 12h, 30d")
	}
	*d = Duration(v)
	return nil
}

// A choice is a flag that has one of some values, in upper or lower case.
type choice struct {
	text *string
	of   []string
}

func (c *choice) String() string { return *c.text }
func (c *choice) Type() string   { return "word" }

func (c *choice) Set(text string) error {
	i := slices.IndexFunc(c.of, func(v string) bool { return strings.EqualFold(v, text) })
	if i < 0 {
		return fmt.Errorf("want %s", strings.Join(c.of, ", "))
	}
	*c.text = c.of[i]
	return nil
}

// AddChoice adds a flag that has one of some values. Before a choice it has the value before.
func AddChoice(cmd *cobra.Command, text *string, before, name, short string, of []string, usage string) *choice {
	c := &choice{text, of}
	*text = before
	cmd.Flags().VarP(c, name, short, usage)
	CompleteFlag(cmd, name, of)
	return c
}

// AddOutput adds the flag that chooses one of the formats of a table.
func AddOutput(cmd *cobra.Command, format *string) { AddFormats(cmd, format, table.Formats) }

// AddFormats adds the flag that chooses one of some formats, and --json. The first is the default.
func AddFormats(cmd *cobra.Command, format *string, formats []string) {
	c := AddChoice(cmd, format, formats[0], "output", "o", formats, "output `format`: "+strings.Join(formats, ", "))
	cmd.Flags().BoolFunc("json", "print JSON: -o json", func(text string) error {
		if on, err := strconv.ParseBool(text); err != nil || !on {
			return err
		}
		if cmd.Flags().Changed("output") && *format != "json" {
			return fmt.Errorf("-o %s contradicts it", *format)
		}
		c.of = []string{"json"} // -o behind it takes no other
		return c.Set("json")
	})
}

// Printing makes run what a command does, and adds the flag that chooses one of some formats for
// it.
func Printing(cmd *cobra.Command, formats []string, run func(ctx context.Context, format string, args []string) error) *cobra.Command {
	var format string
	AddFormats(cmd, &format, formats)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), format, args) }
	return cmd
}

// HintMonths explains times whose months were probably meant as minutes.
func (c *Factory) HintMonths(times ...string) {
	for _, text := range times {
		if months.MatchString(text) {
			// If this fails, the hint cannot be delivered.
			_, _ = fmt.Fprintf(c.Stderr, "%s: up to 5m, m is months, as to rrdtool; minutes are min\n", Quoted(text))
		}
	}
}

// months matches offsets of a few m, which rrdtool reads as months and users often mean as minutes.
var months = regexp.MustCompile(`[-+][0-5]m$`)

// Location returns the time zone in which times are read and printed.
func (c *Factory) Location() *time.Location {
	if tz := c.Getenv("TZ"); tz != "" {
		return rrdtool.Location(tz)
	}
	return time.Local
}

// Range reads the times of a range.
func (c *Factory) Range(from, to string) (start, end int64, err error) {
	location := c.Location()
	start, end, err = attime.PairISO(from, to, c.Now().In(location))
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%w (%s)", err, TimesHint)
	case start < 0 || end < start:
		return 0, 0, fmt.Errorf("the range ends (%s) before it starts (%s)", Stamp(end, location), Stamp(start, location))
	}
	return start, end, nil
}

// TimesHint ends the error of a time that cannot be read.
const TimesHint = `times are like 2026-11-20, 2026-11-20T15:04, 07:00, midnight, -1h, "-2 hours", or seconds since 1970`

// Stamp prints a time for people.
func Stamp(second int64, location *time.Location) string {
	return time.Unix(second, 0).In(location).Format("2006-01-02 15:04:05")
}
