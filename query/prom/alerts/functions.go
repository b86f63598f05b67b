package alerts

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	texts "text/template"
	"time"

	"github.com/prometheus/common/helpers/templates"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/util/strutil"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/rondo-db/rondo/internal/template"
)

// A foundSample is a sample that a query of a template has found. Templates name its fields.
type foundSample struct {
	Labels map[string]string
	Value  any
}

// functions are those that need no query and know no rule. A function whose result may be longer
// than what it takes is bounded.
var functions = template.Funcs{
	"html": ofAll(texts.HTMLEscaper), "js": ofAll(texts.JSEscaper), "urlquery": ofAll(texts.URLQueryEscaper),
	"print": ofAll(fmt.Sprint), "println": ofAll(fmt.Sprintln), "printf": formatted,
	"toUpper": ofText(strings.ToUpper), "toLower": ofText(strings.ToLower), "urlQueryEscape": ofText(url.QueryEscape),
	"graphLink": ofText(strutil.GraphLinkForExpression), "tableLink": ofText(strutil.TableLinkForExpression),
	"title":        ofText(func(s string) string { return cases.Title(language.AmericanEnglish, cases.NoLower).String(s) }),
	"reReplaceAll": replaced, "match": matched,

	"first": func(all []*foundSample) (*foundSample, error) {
		if len(all) == 0 {
			return nil, errors.New("first() called on vector with no elements")
		}
		return all[0], nil
	},
	"label":    func(name string, s *foundSample) string { return s.Labels[name] },
	"value":    func(s *foundSample) any { return s.Value },
	"strvalue": func(s *foundSample) string { return s.Labels["__value__"] },
	"sortByLabel": func(name string, all []*foundSample) []*foundSample {
		slices.SortStableFunc(all, func(a, b *foundSample) int { return strings.Compare(a.Labels[name], b.Labels[name]) })
		return all
	},
	"args": func(args ...any) map[string]any {
		named := make(map[string]any)
		for i, a := range args {
			named[fmt.Sprint("arg", i)] = a
		}
		return named
	},
	"safeHtml": func(text string) string { return text },

	"stripPort":   func(address string) string { host, _ := hostOf(address); return host },
	"stripDomain": stripDomain,

	"humanize":           ofNumber(humanize),
	"humanize1024":       ofNumber(humanize1024),
	"humanizePercentage": ofNumber(func(v float64) (string, error) { return fmt.Sprintf("%.4g%%", v*100), nil }),
	"humanizeDuration":   templates.HumanizeDuration, "humanizeTimestamp": templates.HumanizeTimestamp,
	"toTime": ofNumber(toTime),
	"toDuration": ofNumber(func(v float64) (*time.Duration, error) {
		return new(time.Duration(v * float64(time.Second))), nil
	}),
	"parseDuration": func(text string) (float64, error) {
		d, err := model.ParseDurationAllowNegative(text)
		return time.Duration(d).Seconds(), err
	},
}

// ofAll returns a function that takes values of at most maxText bytes together.
func ofAll(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if sizeOf(reflect.ValueOf(args), maxText+1) > maxText {
			return "", errLong
		}
		return f(args...), nil
	}
}

// ofText returns a function that takes a text of at most maxText bytes.
func ofText(f func(string) string) func(string) (string, error) {
	return func(s string) (string, error) {
		if len(s) > maxText {
			return "", errLong
		}
		return f(s), nil
	}
}

// ofNumber returns a function that takes a number, or the text of one.
func ofNumber[T any](f func(float64) (T, error)) func(any) (T, error) {
	return func(v any) (none T, err error) {
		n, err := templates.ConvertToFloat(v)
		if err != nil {
			return none, err
		}
		return f(n)
	}
}

// hostOf returns the host and the port of an address, if it has one.
func hostOf(address string) (host, port string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, ""
	}
	return host, port
}

// stripDomain returns an address with the first part of the name of its host only.
func stripDomain(address string) string {
	host, port := hostOf(address)
	if net.ParseIP(host) != nil {
		return address
	}
	host, _, _ = strings.Cut(host, ".")
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}

// humanize returns a number with a prefix of the metric system.
func humanize(v float64) (string, error) {
	prefix := ""
	switch size := math.Abs(v); {
	case v == 0 || math.IsNaN(v) || math.IsInf(v, 0):
	case size >= 1:
		for _, p := range []string{"k", "M", "G", "T", "P", "E", "Z", "Y"} {
			if math.Abs(v) < 1000 {
				break
			}
			prefix, v = p, v/1000
		}
	default:
		for _, p := range []string{"m", "u", "n", "p", "f", "a", "z", "y"} {
			if math.Abs(v) >= 1 {
				break
			}
			prefix, v = p, v*1000
		}
	}
	return fmt.Sprintf("%.4g%s", v, prefix), nil
}

// humanize1024 returns a number with a prefix of powers of 1024.
func humanize1024(v float64) (string, error) {
	prefix := ""
	if !math.IsInf(v, 0) {
		for _, p := range []string{"ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"} {
			if !(math.Abs(v) >= 1024) {
				break
			}
			prefix, v = p, v/1024
		}
	}
	return fmt.Sprintf("%.4g%s", v, prefix), nil
}

// toTime returns the time so many seconds after 1970.
func toTime(v float64) (*time.Time, error) {
	ns := v * 1e9
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return nil, errors.New("value is NaN or Inf")
	case ns > math.MaxInt64 || ns < math.MinInt64:
		return nil, fmt.Errorf("%v cannot be represented as a nanoseconds timestamp since it overflows int64", v)
	}
	return new(model.TimeFromUnixNano(int64(ns)).Time().UTC()), nil
}
