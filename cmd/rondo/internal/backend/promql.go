package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/rpc"
)

// A PromAnswer is an answer of Prometheus' API.
type PromAnswer struct {
	Data            json.RawMessage
	Warnings, Infos []string
}

// mostPromAnswer bounds an answer of Prometheus' API, in bytes.
const mostPromAnswer = 256 << 20

// PromQL asks Prometheus' API, of the server or over the store that this process has opened. path
// is the part behind /api/v1/. rules name the metrics of the store; a server has rules of its own.
func (d *Database) PromQL(ctx context.Context, path string, form url.Values, rules []prom.Rule) (*PromAnswer, error) {
	return d.promQL(ctx, http.MethodPost, path, form, rules)
}

// PromList asks Prometheus' API for the values of a label; for the names of labels if label is "".
func (d *Database) PromList(ctx context.Context, label string, form url.Values, rules []prom.Rule) (names []string, err error) {
	method, path := http.MethodPost, "labels"
	if label != "" {
		method, path = http.MethodGet, "label/"+url.PathEscape(label)+"/values"
	}
	a, err := d.promQL(ctx, method, path, form, rules)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(a.Data, &names)
	return names, err
}

func (d *Database) promQL(ctx context.Context, method, path string, form url.Values, rules []prom.Rule) (*PromAnswer, error) {
	code, body, err := d.sendForm(ctx, method, api.Prefix+path, form, rules)
	if err != nil {
		return nil, err
	}
	var a struct {
		PromAnswer
		Status, Error string
	}
	switch err := json.Unmarshal(body, &a); {
	case err != nil && code == http.StatusNotFound:
		return nil, errors.New("the server does not answer queries in PromQL: is it an older version?")
	case err != nil:
		return nil, fmt.Errorf("the server answers %d: %.200s", code, strings.TrimSpace(string(body)))
	case a.Status != "success":
		return nil, errors.New(strings.TrimPrefix(a.Error, `invalid parameter "query": `))
	}
	return &a.PromAnswer, nil
}

func (d *Database) sendForm(ctx context.Context, method, path string, form url.Values, rules []prom.Rule) (code int, body []byte, err error) {
	if d.Client != nil {
		answer, err := d.Client.SendForm(ctx, method, path, form)
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = answer.Body.Close() }() // it has been read
		body, err := io.ReadAll(io.LimitReader(answer.Body, mostPromAnswer+1))
		if err == nil && len(body) > mostPromAnswer {
			err = fmt.Errorf("the answer has more than %d bytes: ask for less", mostPromAnswer)
		}
		return answer.StatusCode, body, err
	}
	r, err := rpc.FormRequest(ctx, method, path, form)
	if err != nil {
		return 0, nil, err
	}
	w := &kept{header: make(http.Header), code: http.StatusOK}
	api.New(api.Config{Storage: prom.New(d.Store, rules)}).ServeHTTP(w, r)
	return w.code, w.body.Bytes(), nil
}

// kept is an answer in memory.
type kept struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(code int)        { k.code = code }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }
