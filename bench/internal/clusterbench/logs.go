package clusterbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxPage bounds what a server says of its streams.
const maxPage = 16 << 20

// A logState is what one server keeps of the log of a partition.
type logState struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	Last     int64 `json:"last_seq"`
}

// logStates are the logs of all partitions, by the names of their streams.
type logStates map[string]logState

// logs asks the first server what it keeps. Each server keeps all logs.
func (s *servers) logs(ctx context.Context) (all logStates, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.monitors[0]+"/jsz?streams=1", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask a server for its streams: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask a server for its streams: %s", resp.Status)
	}
	return readLogs(io.LimitReader(resp.Body, maxPage))
}

// readLogs reads the page /jsz of a server. Streams of buckets are no logs.
func readLogs(r io.Reader) (logStates, error) {
	var page struct {
		Accounts []struct {
			Streams []struct {
				Name  string   `json:"name"`
				State logState `json:"state"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.NewDecoder(r).Decode(&page); err != nil {
		return nil, fmt.Errorf("read what a server says of its streams: %w", err)
	}
	all := make(logStates)
	for _, a := range page.Accounts {
		for _, x := range a.Streams {
			if !strings.HasPrefix(x.Name, "KV_") {
				all[x.Name] = x.State
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("a server says nothing of the logs of partitions")
	}
	return all, nil
}

// since returns how many messages came behind before, and how many bytes. If the log was truncated
// meanwhile they are taken to be as long as those that are kept.
func (after logStates) since(before logStates) (messages, bytes int64) {
	for name, a := range after {
		b := before[name]
		n := a.Last - b.Last
		messages += n
		switch {
		case a.Messages-b.Messages == n:
			bytes += a.Bytes - b.Bytes
		case a.Messages > 0:
			bytes += int64(float64(n) * float64(a.Bytes) / float64(a.Messages))
		}
	}
	return messages, bytes
}
