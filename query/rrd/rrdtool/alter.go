package rrdtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

const alterUsage = `NAME [OPTIONS]
  --rra RRA:…          the archives that the series shall have, in place of those it has; repeat
  --add-rra RRA:…      one more archive; repeat
  --drop-rra INDEX     one less, counted from 0 among those there are; repeat
  --ds DS:…            one more data source, or what one that is there shall be; repeat
  --drop-ds NAME       one less; repeat
  --rename OLD:NEW     another name of a data source; repeat
  -s, --step SECONDS   another step; archives keep what time a row covers
  -n, --dry-run        change nothing
  -o, --output FORMAT  of what the series then keeps: table, json or none
  -d, --daemon ADDRESS  ask the server at ADDRESS
rows of new archives are made of the finest that are known`

var alterOptions = optionsIn(alterUsage)

// An alteration is the options of alter.
type alteration struct {
	Alteration
	dry    bool
	output string
}

// alter changes the data sources, archives and step of a series, and keeps its history.
func (c *command) alter(args []string) error {
	a := alteration{output: "table"}
	rest, err := parse(args, alterOptions, func(name, arg string) error {
		if name == "daemon" {
			return c.daemon(arg)
		}
		return a.option(name, arg)
	})
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("alter needs the name of one series")
	}
	find := c.owned
	if a.dry {
		find = c.native
	}
	ref, err := find(rest[0])
	if err != nil {
		return err
	}
	series, err := c.Store.Export(c.ctx, ref)
	if err != nil {
		return named(rest[0], err)
	}
	var made core.Copy
	if a.dry {
		made, err = a.Apply(series)
	} else {
		_, err = c.Store.Alter(c.ctx, series.Path, func(old core.Copy) (core.Copy, error) {
			made, err = a.Apply(old)
			return made, err
		})
	}
	if err != nil {
		return named(rest[0], err)
	}
	return c.altered(a.output, &made)
}

func (a *alteration) option(name, arg string) (err error) {
	switch name {
	case "rra":
		a.Archives = append(a.Archives, arg)
	case "add-rra":
		a.Added = append(a.Added, arg)
	case "drop-rra":
		i, err := strconv.ParseUint(arg, 10, 31)
		if err != nil {
			return fmt.Errorf("--drop-rra %s: not the index of an archive", arg)
		}
		a.Dropped = append(a.Dropped, int64(i))
	case "ds":
		a.Sources = append(a.Sources, arg)
	case "drop-ds":
		a.Without = append(a.Without, arg)
	case "rename":
		old, next, ok := strings.Cut(arg, ":")
		if word, rest := leadingName(next); !ok || word == "" || rest != "" {
			return fmt.Errorf("--rename %s: must be OLD:NEW", arg)
		}
		a.Renamed = append(a.Renamed, [2]string{old, next})
	case "step":
		if a.Step, err = rra.ParseDuration(arg); err != nil {
			return fmt.Errorf("step size: %w", err)
		}
	case "dry-run":
		a.dry = true
	case "output":
		if arg != "table" && arg != "json" && arg != "none" {
			return fmt.Errorf("--output %s: must be table, json or none", arg)
		}
		a.output = arg
	}
	if len(a.Archives) > 0 && len(a.Added)+len(a.Dropped) > 0 {
		return errors.New("--rra names all archives: --add-rra and --drop-rra do not go with it")
	}
	return nil
}

// altered prints the definition of the altered series and how many rows of each archive are known.
func (c *command) altered(output string, made *core.Copy) error {
	type archive struct {
		Archive string `json:"archive"`
		Seconds int64  `json:"seconds"`
		Rows    int64  `json:"rows"`
		Known   int64  `json:"known"`
	}
	var archives []archive
	d, known := made.Definition, KnownRows(made)
	for i := range d.Archives {
		a := &d.Archives[i]
		archives = append(archives, archive{a.String(), a.PDPs * d.Step, a.Rows, known[i]})
	}
	switch output {
	case "json":
		var sources []string
		for i := range d.Sources {
			sources = append(sources, d.Sources[i].String())
		}
		b, err := json.Marshal(map[string]any{"path": made.Path, "step": d.Step, "sources": sources, "archives": archives})
		if err != nil {
			return err
		}
		c.printf("%s\n", b)
	case "table":
		for i := range d.Sources {
			c.printf("%s\n", d.Sources[i].String())
		}
		for _, a := range archives {
			c.printf("%-32s %8d s a row %8d rows %8d known\n", a.Archive, a.Seconds, a.Rows, a.Known)
		}
	}
	return nil
}
