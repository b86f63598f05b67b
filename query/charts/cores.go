package charts

import "strings"

// manyCores is the most cores whose charts stand among the other charts of a host.
const manyCores = 4

// coresInOne gives hosts with many cores one chart of how busy each is, and puts the charts of each
// core behind all others.
func (b *builder) coresInOne() {
	hosts := make(map[string][]*draft)
	for _, d := range b.sorted() {
		if d.Group == "CPU" && d.Stack && isCore(d.ID) {
			hosts[d.base] = append(hosts[d.base], d)
		}
	}
	for base, cores := range hosts {
		if len(cores) <= manyCores {
			continue
		}
		busy := &draft{base: base, rank: rankOf("CPU"), Chart: Chart{
			Title: "Busy cores", Group: "CPU", Unit: "%", Base: 1000, Lower: 0, Upper: 100,
		}}
		for i, d := range cores {
			d.Group, d.rank = groupCores, rankOf(groupCores)
			for _, l := range d.Lines {
				if l.Label != "Idle" {
					continue
				}
				l.Label = d.ID[strings.LastIndexByte(d.ID, '-')+1:]
				l.Factor, l.Offset, l.Style, l.Color, l.order = -1, 100, styleLine, "", i
				busy.Lines = append(busy.Lines, l)
			}
		}
		if len(busy.Lines) > 0 {
			b.draft(strings.TrimPrefix(base+"/cpu-busy", "/"), func() *draft { return busy })
		}
	}
}

// isCore reports whether the ID of a chart belongs to a core: it ends in cpu- and a number.
func isCore(id string) bool {
	n, ok := strings.CutPrefix(id[strings.LastIndexByte(id, '/')+1:], "cpu-")
	return ok && n != "" && leading(n) == len(n)
}
