package rrdtoolbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A painter is a program that draws.
type painter interface {
	name() string
	running() bool
	// draw draws a picture of the year that ends some hours before the last row, and returns what
	// it cost in processor time.
	draw(ctx context.Context, g graph, format string, ago int) ([]byte, time.Duration, error)
	end() error
}

// rrdtoolName is the name of rrdtool, as one process that draws all, or as one a picture.
func rrdtoolName(running bool) string {
	if running {
		return "rrdtool -"
	}
	return "rrdtool graph"
}

// painters starts what draws. If the error is not nil, those that are returned have been started.
func (c *GraphConfig) painters(ctx context.Context) (ps []painter, err error) {
	in := func(folder string) string { return filepath.Join(c.Dir, folder) }
	pipe := func(name, folder string, args ...string) error {
		p, err := start(ctx, in(folder), args)
		if err == nil {
			ps = append(ps, &pipePainter{process: p, title: name})
		}
		return err
	}
	if c.RRDTool != "" {
		if err := pipe(rrdtoolName(true), filesFolder, c.RRDTool, "-"); err != nil {
			return ps, err
		}
	}
	if err := pipe("rondo -", pipeFolder, c.Rondo, "-"); err != nil {
		return ps, err
	}
	server, err := startHTTP(ctx, in(serverFolder), c.Rondo)
	if err != nil {
		return ps, err
	}
	ps = append(ps, server)
	if c.RRDTool != "" {
		ps = append(ps, &oneShotPainter{title: rrdtoolName(false), dir: in(filesFolder), program: c.RRDTool})
	}
	return append(
		ps,
		&oneShotPainter{title: "rondo graph, native files", dir: in(filesFolder), program: c.Rondo},
		&oneShotPainter{title: "rondo graph, database", dir: in(oneShotFolder), program: c.Rondo},
		&oneShotPainter{title: "rondo graph, through a server", dir: in(serverFolder), program: c.Rondo, server: processes{server.process}},
	), nil
}

// A pipePainter is a program in pipe mode.
type pipePainter struct {
	*process
	title string
}

func (p *pipePainter) name() string { return p.title }

func (*pipePainter) running() bool { return true }

func (p *pipePainter) draw(_ context.Context, g graph, format string, ago int) ([]byte, time.Duration, error) {
	before := processes{p.process}.processor()
	if _, err := fmt.Fprintf(p.in, "graphv - %s\n", strings.Join(g.args(format, ago), " ")); err != nil {
		return nil, 0, err
	}
	var data []byte
	for {
		line, err := p.out.ReadString('\n')
		switch {
		case err != nil:
			return nil, 0, err
		case strings.HasPrefix(line, "OK "):
			return data, processes{p.process}.processor() - before, nil
		case strings.HasPrefix(line, "ERROR: "):
			return nil, 0, errors.New(strings.TrimSpace(line))
		}
		if length, ok := strings.CutPrefix(line, "image = BLOB_SIZE:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(length))
			if err != nil || n < 1 || n > 64<<20 {
				return nil, 0, fmt.Errorf("answer %q", line)
			}
			data = make([]byte, n)
			if _, err := io.ReadFull(p.out, data); err != nil {
				return nil, 0, err
			}
		}
	}
}

// A oneShotPainter starts a process for every picture.
type oneShotPainter struct {
	title, dir, program string
	server              processes // that the program asks, if there is one
}

func (p *oneShotPainter) name() string { return p.title }

func (*oneShotPainter) running() bool { return false }

func (*oneShotPainter) end() error { return nil }

func (p *oneShotPainter) draw(ctx context.Context, g graph, format string, ago int) ([]byte, time.Duration, error) {
	cmd := command(ctx, p.dir, append([]string{p.program, "graph", "-"}, g.args(format, ago)...))
	var said bytes.Buffer
	cmd.Stderr = &said
	before := p.server.processor()
	data, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return data, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() + p.server.processor() - before, nil
}

// An httpPainter is a server that draws what is asked for over HTTP.
type httpPainter struct {
	*process
	client *http.Client
	url    string
	tags   map[string]bool // of the pictures so far
}

func (*httpPainter) name() string { return "rondo serve" }

func (*httpPainter) running() bool { return true }

// draw asks for a picture. One that the server has drawn before is an error: it costs nothing.
func (p *httpPainter) draw(ctx context.Context, g graph, format string, ago int) ([]byte, time.Duration, error) {
	address := p.url + "/graph." + format + "?" + url.Values{"arg": g.args(format, ago)}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	before := processes{p.process}.processor()
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it has been read
	took := processes{p.process}.processor() - before
	tag := answer.Header.Get("ETag")
	switch {
	case err != nil:
		return nil, 0, err
	case answer.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("%s: %.300s", answer.Status, data)
	case tag == "" || p.tags[tag]:
		return nil, 0, fmt.Errorf("the server has shown the picture %q before", tag)
	}
	p.tags[tag] = true
	return data, took, nil
}

func (p *httpPainter) end() error {
	p.client.CloseIdleConnections()
	return p.process.end()
}
