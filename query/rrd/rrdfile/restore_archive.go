package rrdfile

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

func (p *restorer) archive(version int) {
	d := &p.f.Definition
	i := len(d.Archives)
	if (i+1)*max(len(d.Sources), maxCells/maxElements) > maxCells {
		p.x.fail("", "more than %d archives of %d data sources", i, len(d.Sources))
		return
	}
	d.Archives = append(d.Archives, rra.Archive{})
	p.f.State.Archives = append(p.f.State.Archives, rra.ArchiveSnapshot{})
	a, x := &d.Archives[i], &p.f.State.Archives[i]
	known := false
	p.children(func(name string) {
		switch {
		case name == "cf":
			cf := p.text(nameSize)
			var err error
			if a.CF, err = rra.ParseCF(cf); err != nil && p.ok() {
				p.x.fail("", "parse_tag_rra_cf: Unknown consolidation function: %s", cf)
			}
			known = true
		case name == "pdp_per_row":
			a.PDPs = int64(p.long())
		case name == "xff" && version == 1:
			a.XFF = p.double()
		case name == "params" && version >= 2:
			p.params(i)
		case name == "cdp_prep":
			p.cdps(x)
		case name == "database":
			p.database(a, x)
		default:
			p.x.fail("line", "parse_tag_rra: Unknown tag: %s", name)
		}
	})
	if !p.ok() {
		return
	}
	switch {
	case !known:
		p.refuse("archive %d has no cf", i)
	case a.PDPs <= 0:
		p.refuse("archive %d: pdp_per_row %d cannot be", i, uint64(a.PDPs))
	}
	p.completeArchive(i)
}

// completeArchive removes the parameters that the CF of an archive does not have.
func (p *restorer) completeArchive(i int) {
	a, x := &p.f.Definition.Archives[i], &p.f.State.Archives[i]
	if a.CF <= rra.Last {
		a.Partner = -1
		if p.o.XenServer && a.XFF == 1 {
			a.XFF = MostUnknown
		}
	} else {
		a.XFF = 0
	}
	if !isSeasonal(a.CF) {
		x.SmoothRow = 0
	}
	if a.CF != rra.Failures {
		a.Window = 0
	}
	for j := range x.CDPs {
		c := &x.CDPs[j]
		if a.CF != rra.Failures {
			c.History = ""
			continue
		}
		history := make([]byte, a.Window)
		for k := range history {
			history[k] = '0'
			if k < len(c.History) {
				history[k] = c.History[k]
			}
		}
		c.History = string(history)
	}
}

func (p *restorer) params(i int) {
	a := &p.f.Definition.Archives[i]
	p.children(func(name string) {
		switch name {
		case "xff":
			a.XFF = p.double()
		case "hw_alpha":
			a.Alpha = p.double()
		case "hw_beta":
			a.Beta = p.double()
		case "dependent_rra_idx":
			a.Partner = int(p.long())
		case "seasonal_gamma":
			a.Gamma = p.double()
		case "seasonal_smooth_idx":
			p.f.State.Archives[i].SmoothRow = int64(p.long())
		case "smoothing_window":
			a.SmoothingWindow = p.double()
		case "failure_threshold":
			a.Threshold = int(p.long())
		case "delta_pos":
			a.DeltaPos = p.double()
		case "delta_neg":
			a.DeltaNeg = p.double()
		case "window_len":
			n := p.long()
			if n > maxWindow {
				p.x.fail("", "window_len %d, at most %d is possible", n, maxWindow)
			}
			a.Window = int(n)
		default:
			p.x.fail("line", "parse_tag_rra_params: Unknown tag: %s", name)
		}
	})
}

// each reads one element of the given name for each data source, up to the end of the element that
// contains them.
func (p *restorer) each(name string, read func(i int)) {
	n := len(p.f.Definition.Sources)
	for i := 0; p.ok(); i++ {
		found, ok := p.child()
		switch {
		case !p.ok():
		case ok && found == name && i < n:
			read(i)
		case !ok && i == n:
			return
		case !ok: // rrdtool's text has the two names the wrong way round
			p.x.fail("line", "expected </%s> element but found <%s>", p.x.name, name)
		case i == n:
			p.x.fail("line", "expected <%s> element but found </%s>", found, p.x.open[len(p.x.open)-2])
		default:
			p.x.fail("line", "expected <%s> element but found <%s>", found, name)
		}
	}
}

func (p *restorer) cdps(x *rra.ArchiveSnapshot) {
	if x.CDPs == nil {
		x.CDPs = make([]rra.CDP, 0, len(p.f.Definition.Sources))
	}
	x.CDPs = x.CDPs[:0]
	p.each("ds", func(int) {
		x.CDPs = append(x.CDPs, rra.CDP{})
		p.cdp(&x.CDPs[len(x.CDPs)-1])
	})
}

func (p *restorer) cdp(c *rra.CDP) {
	p.children(func(name string) {
		switch x, ok := cdpElements[name]; {
		case ok && x.double != nil:
			*x.double(c) = p.double()
		case ok:
			*x.long(c) = int64(p.long())
		case name == "history":
			c.History = p.history()
		default:
			p.x.fail("", "parse_tag_rra_cdp_prep: Unknown tag: %s", name)
		}
	})
}

// restoredHistory is how many PDPs of a history rrdtool restores.
const restoredHistory = 10

func (p *restorer) history() string {
	w := p.word()
	most := restoredHistory
	if p.o.WholeHistory {
		most = maxWindow
	}
	w = w[:min(len(w), most)]
	for i, c := range w {
		if c != '1' {
			w[i] = '0'
		}
	}
	return string(w)
}

func (p *restorer) database(a *rra.Archive, x *rra.ArchiveSnapshot) {
	if a.Rows > 0 {
		p.x.fail("", "an archive has two databases")
		return
	}
	row := func(i int) {
		v := p.double()
		if s := &p.f.Definition.Sources[i]; p.o.RangeCheck && (v < s.Min || v > s.Max) {
			v = math.Float64frombits(rrdtoolNaN)
		}
		x.Rows = append(x.Rows, v)
	}
	p.children(func(name string) {
		if name != "row" {
			p.x.fail("line", "expected <%s> element but found <row>", name)
			return
		}
		p.each("v", row)
		a.Rows++
	})
}
