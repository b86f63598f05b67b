package rrdtool

import "github.com/rondo-db/rondo/rra"

// printSources prints what tune says of the data sources of a series where no argument is left that names it.
func (c *command) printSources(name string) error {
	series, err := c.series(name)
	if err != nil {
		return err
	}
	for i := range series.Definition.Sources {
		s := &series.Definition.Sources[i]
		c.printf("DS[%s] typ: %s\t", s.Name, s.Kind)
		if s.Kind == rra.Compute {
			c.printf("cdef: %s\n", expression(series.Definition, i))
		} else {
			c.printf("hbt: %d\tmin: %s\tmax: %s\n", s.Heartbeat, c.shortValue(s.Min), c.shortValue(s.Max))
		}
	}
	return nil
}
