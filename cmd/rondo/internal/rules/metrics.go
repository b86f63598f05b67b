package rules

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/query/prom"
)

// MetricsKey is the key of the file that holds the names of metrics:
//
//	metrics:
//	  - path: hosts/([^/]+)/disk-(.*)
//	    name: disk_${ds}
//	    labels: {host: $1, disk: $2}
//
// The keys path and name are needed.
const MetricsKey = "metrics"

// Metrics are the names of metrics, in order.
type Metrics []prom.Rule

// ParseMetrics reads the value of the key metrics.
func ParseMetrics(n *yaml.Node) (Metrics, error) {
	n = target(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errors.New("want a list of metrics")
	}
	list := make(Metrics, len(n.Content))
	for i, node := range n.Content {
		var err error
		if list[i], err = parseMetric(target(node)); err != nil {
			return nil, &Error{Rule: i + 1, Err: err, line: node.Line}
		}
	}
	return list, nil
}

func parseMetric(n *yaml.Node) (prom.Rule, error) {
	var m struct {
		Path   string            `yaml:"path"`
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	}
	if n.Kind != yaml.MappingNode {
		return prom.Rule{}, errors.New("want the keys of a metric")
	}
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i].Value; key {
		case "path", "name", "labels":
		default:
			return prom.Rule{}, fmt.Errorf("unknown key %q", key)
		}
	}
	if err := n.Decode(&m); err != nil {
		return prom.Rule{}, err
	}
	if m.Path == "" {
		return prom.Rule{}, errors.New("path is missing")
	}
	return prom.NewRule(m.Path, m.Name, m.Labels)
}
