package prom

import (
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// apart returns other labels for series that have the same labels: a query cannot answer with two
// of them. A selector finds all that have the same labels or none of them, but for stored rates
// that it does not ask for: each has the same labels in all answers to selectors of its name. They
// get a label with the path of their series.
func apart(all []found) (others map[int]labels.Labels) {
	for name := "path"; ; name = "_" + name {
		twins := twinsOf(all, others)
		if len(twins) == 0 {
			return others
		}
		if others == nil {
			others = make(map[int]labels.Labels)
		}
		for _, group := range twins {
			of := make(map[string]int) // metrics by path
			for _, i := range group {
				path := strings.TrimSuffix(all[i].entry.path, ".rrd")
				n := of[path]
				if of[path]++; n > 0 {
					path += ":" + strconv.Itoa(n)
				}
				b := labels.NewBuilder(labelsAt(all, others, i))
				others[i] = b.Set(name, path).Labels()
			}
		}
	}
}

func labelsAt(all []found, others map[int]labels.Labels, i int) labels.Labels {
	if ls, ok := others[i]; ok {
		return ls
	}
	return all[i].metric.labels
}

// twinsOf returns groups of metrics that have the same labels, as indices of all in order.
func twinsOf(all []found, others map[int]labels.Labels) (twins [][]int) {
	byHash := make(map[uint64][]int) // of hashes that several have
	hashes, seen := make([]uint64, len(all)), make(map[uint64]struct{}, len(all))
	for i := range all {
		h := all[i].metric.hash
		if ls, ok := others[i]; ok {
			h = ls.Hash()
		}
		hashes[i] = h
		if _, ok := seen[h]; ok {
			byHash[h] = nil
		}
		seen[h] = struct{}{}
	}
	if len(byHash) == 0 {
		return nil
	}
	for i, h := range hashes {
		if group, ok := byHash[h]; ok {
			byHash[h] = append(group, i)
		}
	}
	for _, rest := range byHash {
		for len(rest) > 1 {
			var same, unlike []int
			for _, i := range rest {
				if labels.Equal(labelsAt(all, others, rest[0]), labelsAt(all, others, i)) {
					same = append(same, i)
				} else {
					unlike = append(unlike, i) // the hash is the same by chance
				}
			}
			if rest = unlike; len(same) > 1 {
				twins = append(twins, same)
			}
		}
	}
	return twins
}
