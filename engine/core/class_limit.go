package core

import (
	"fmt"
	"slices"
)

// A reference has room for this many classes: its upper 16 bits are left to who keeps many stores
// as one. A class is taken by the first series of a shape, and kept for ever.

// reserveClasses removes from plan the series that would need one class more than there may be, and
// notes which new classes the others will make. The caller holds planMu.
func (cat *catalogue) reserveClasses(plan []planned, out []Created) []planned {
	var err error // of the series before
	var shape string
	for i := range plan {
		p := &plan[i]
		if i == 0 || p.m != plan[i-1].m {
			shape, err = cat.newShape(p.m.Shape())
		}
		if err != nil {
			out[p.at].Err = fmt.Errorf("create %.200q: %w", p.Path, err)
			p.refused = true
			continue
		}
		if p.shape = shape; shape != "" {
			cat.shapes[shape]++
		}
	}
	return slices.DeleteFunc(plan, func(p planned) bool { return p.refused })
}

// newShape returns shape if no class has it, and "" otherwise. The error says that no class more is
// possible. The caller holds planMu.
func (cat *catalogue) newShape(shape string) (string, error) {
	cat.mu.RLock()
	known := cat.byShape[shape] != nil
	cat.mu.RUnlock()
	if known {
		return "", nil
	}
	if most := cat.options.maxClasses; cat.shapes[shape] == 0 && len(*cat.classes.Load())+len(cat.shapes) >= most {
		return "", fmt.Errorf("%w: the series have %d shapes (steps, data sources and archives), and more are not possible", ErrSeriesLimit, most)
	}
	return shape, nil
}

// releaseClasses takes back what reserveClasses has noted. The caller holds planMu.
func (cat *catalogue) releaseClasses(plan []planned) {
	for i := range plan {
		shape := plan[i].shape
		if shape == "" {
			continue
		}
		if cat.shapes[shape]--; cat.shapes[shape] == 0 {
			delete(cat.shapes, shape)
		}
	}
}

// reserveClass is reserveClasses for a series that takes the place of another. The caller gives the
// class back with arriveClass.
func (cat *catalogue) reserveClass(p *planned) error {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	shape, err := cat.newShape(p.m.Shape())
	if p.shape = shape; shape != "" {
		cat.shapes[shape]++
	}
	return err
}

// arriveClass says that the class of p is made, or never will be.
func (cat *catalogue) arriveClass(p *planned) {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	cat.releaseClasses([]planned{*p})
}
