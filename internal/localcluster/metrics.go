package localcluster

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

var metric = regexp.MustCompile(`(?m)^(rondo_cluster_\w+) (\S+)$`)

// Metrics returns what a node says of the cluster, by the names of its metrics; nothing if it does
// not answer within 30 s.
func (c *Cluster) Metrics(node int) map[string]float64 {
	all := make(map[string]float64)
	client := http.Client{Timeout: 30 * time.Second}
	r, err := client.Get(c.HTTP[node] + "/metrics")
	if err != nil {
		return all
	}
	defer func() { _ = r.Body.Close() }() // it was read
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return all
	}
	for _, m := range metric.FindAllStringSubmatch(string(b), -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil {
			all[m[1]] = v
		}
	}
	return all
}
