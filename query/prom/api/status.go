package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
)

// speaks is the version of Prometheus whose API and language rondo has. Grafana asks for it, and
// uses what that version can.
const speaks = "3.10.0"

// encoded returns the result of a value that package json encodes. It is for small ones.
func encoded(v any) (*result, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, &failure{Internal, err}
	}
	return &result{data: func(o *output) { o.text(string(b)) }}, nil
}

// buildInfo answers with the version of Prometheus that rondo speaks like.
func (h *Handler) buildInfo(*http.Request, string) (*result, error) {
	return encoded(struct {
		Version   string `json:"version"`
		Revision  string `json:"revision"`
		Branch    string `json:"branch"`
		BuildUser string `json:"buildUser"`
		BuildDate string `json:"buildDate"`
		GoVersion string `json:"goVersion"`
	}{Version: speaks, Revision: "rondo " + h.Version, GoVersion: runtime.Version()})
}

// runtimeInfo answers with the fields of Prometheus. The folder and the name of the machine are
// empty: not everybody who may ask should know them.
func (h *Handler) runtimeInfo(*http.Request, string) (*result, error) {
	return encoded(struct {
		Start      time.Time `json:"startTime"`
		Folder     string    `json:"CWD"`
		Host       string    `json:"hostname"`
		Server     time.Time `json:"serverTime"`
		Reloaded   bool      `json:"reloadConfigSuccess"`
		Loaded     time.Time `json:"lastConfigTime"`
		Damages    int64     `json:"corruptionCount"`
		Goroutines int       `json:"goroutineCount"`
		Processors int       `json:"GOMAXPROCS"`
		Memory     int64     `json:"GOMEMLIMIT"`
		GOGC       string    `json:"GOGC"`
		GODEBUG    string    `json:"GODEBUG"`
		Retention  string    `json:"storageRetention"`
	}{
		Start: h.Started.UTC(), Server: h.now().UTC(), Reloaded: true, Loaded: h.Started.UTC(), Damages: h.Damages(),
		Goroutines: runtime.NumGoroutine(), Processors: runtime.GOMAXPROCS(0), Memory: debug.SetMemoryLimit(-1),
		GOGC: os.Getenv("GOGC"), GODEBUG: os.Getenv("GODEBUG"), Retention: "as the archives of each series say",
	})
}

// flags answers with the limits of queries, under the names of Prometheus' flags.
func (h *Handler) flags(*http.Request, string) (*result, error) {
	return encoded(map[string]string{
		"query.lookback-delta":             model.Duration(lookback).String(),
		"query.max-concurrency":            strconv.Itoa(h.Config.places),
		"query.max-samples":                strconv.Itoa(h.samples),
		"query.timeout":                    h.timeout.String(),
		"storage.remote.read-sample-limit": strconv.Itoa(h.readRows),
	})
}

// exemplars answers that there are none.
func (h *Handler) exemplars(r *http.Request, _ string) (*result, error) {
	start, err := timeParam(r, "start", minTime)
	if err != nil {
		return nil, err
	}
	end, err := timeParam(r, "end", maxTime)
	if err != nil {
		return nil, err
	}
	if end.Before(start) {
		return nil, bad("end timestamp must not be before start timestamp")
	}
	if _, err := parseExpr(r); err != nil {
		return nil, err
	}
	return constant("[]")(r, "")
}

// rules answers with the groups of rules.
func (h *Handler) rules(r *http.Request, _ string) (*result, error) {
	if t := strings.ToLower(r.URL.Query().Get("type")); t != "" && t != "alert" && t != "record" {
		return nil, badParameter("type", errors.New("not supported value "+strconv.Quote(t)))
	}
	if s := r.FormValue("exclude_alerts"); s != "" {
		if _, err := strconv.ParseBool(s); err != nil {
			return nil, badParameter("exclude_alerts", errors.New("error converting exclude_alerts: "+err.Error()))
		}
	}
	if _, err := matchers(r); err != nil {
		return nil, bad("%w", err)
	}
	limit := r.FormValue("group_limit")
	if limit != "" {
		n, err := strconv.ParseInt(limit, 10, 32)
		if err != nil {
			return nil, badParameter("group_limit", fmt.Errorf("group_limit needs to be a valid number: %w", err))
		}
		if n <= 0 {
			return nil, badParameter("group_limit", errors.New("group_limit needs to be greater than 0"))
		}
	} else if r.FormValue("group_next_token") != "" {
		return nil, badParameter("group_next_token", errors.New("group_limit needs to be present in order to paginate over the groups"))
	}
	groups, next, err := h.Rules(r.Context(), r)
	if err != nil {
		return nil, badParameter("group_next_token", err)
	}
	return &result{data: func(o *output) {
		o.text(`{"groups":` + string(groups))
		if next != "" {
			o.text(`,"groupNextToken":"` + next + `"`)
		}
		o.text("}")
	}}, nil
}

// alerts answers with the active alerts.
func (h *Handler) alerts(r *http.Request, _ string) (*result, error) {
	alerts, err := h.Alerts(r.Context(), r)
	if err != nil {
		return nil, &failure{Internal, err}
	}
	return &result{data: func(o *output) { o.text(`{"alerts":` + string(alerts) + `}`) }}, nil
}

// metadata answers with what metrics are.
func (h *Handler) metadata(r *http.Request, _ string) (*result, error) {
	number := func(name string) (int, error) {
		s := r.FormValue(name)
		if s == "" {
			return -1, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, bad("%s must be a number", name)
		}
		return n, nil
	}
	limit, err := number("limit")
	if err != nil {
		return nil, err
	}
	each, err := number("limit_per_metric")
	if err != nil {
		return nil, err
	}
	known, err := h.Metadata(r.Context(), r.FormValue("metric"))
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(known))
	if limit >= 0 && len(names) > limit {
		names = names[:limit]
	}
	res := &result{data: func(o *output) { o.metadata(names, known, each) }}
	for _, name := range names {
		for _, m := range known[name] {
			res.bytes += int64(len(name) + len(m.Help) + len(m.Unit) + 64)
		}
	}
	return res, nil
}

func (o *output) metadata(names []string, known map[string][]metadata.Metadata, each int) {
	o.text("{")
	o.items(len(names), func(i int) {
		ms := known[names[i]]
		if each > 0 {
			ms = ms[:min(len(ms), each)]
		}
		o.str(names[i])
		o.text(":[")
		o.items(len(ms), func(j int) {
			o.text(`{"type":`)
			o.str(string(cmp.Or(ms[j].Type, model.MetricTypeUnknown)))
			o.text(`,"help":`)
			o.str(ms[j].Help)
			o.text(`,"unit":`)
			o.str(ms[j].Unit)
			o.text("}")
		})
		o.text("]")
	})
	o.text("}")
}
