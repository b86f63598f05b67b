package live

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
)

// A Program is what the screen shows. Run calls its methods one after another.
type Program interface {
	// Load returns the function that reads what is shown next. That function runs beside the
	// methods and must not touch what they change. It returns a function that puts what it has read
	// into the program, which is called like a method. Each of the two may be nil.
	Load() (read func(ctx context.Context) (put func()))
	// Draw returns the screen.
	Draw(width, height int) *chart.Grid
	// Key gets a key: a character, or one of the names of keys.
	Key(name string) Action
}

// An Action is what a key brings about. The screen is drawn again after every key.
type Action int

// What a key brings about.
const (
	Stay   Action = iota
	Reload        // load at once
	Quit
)

// Options say where and how often a program is shown.
type Options struct {
	// Every is how long after the end of a Load the next one begins.
	Every func() time.Duration
	// Tty is the terminal; nil: the process's own.
	Tty tcell.Tty
}

// names are the keys that are no characters.
var names = map[tcell.Key]string{
	tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right",
	tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn", tcell.KeyHome: "home", tcell.KeyEnd: "end",
	tcell.KeyEnter: "enter", tcell.KeyEscape: "esc", tcell.KeyBackspace: "backspace", tcell.KeyBackspace2: "backspace",
	tcell.KeyCtrlC: "ctrl-c", tcell.KeyCtrlU: "ctrl-u", tcell.KeyCtrlD: "ctrl-d", tcell.KeyCtrlL: "ctrl-l", tcell.KeyCtrlZ: "ctrl-z",
	tcell.KeyDelete: "delete", tcell.KeyTab: "tab",
}

// Run shows a program until a key ends it or ctx ends. In the second case it returns ctx's cause.
func Run(ctx context.Context, p Program, o Options) error {
	screen, err := newScreen(o.Tty)
	if err != nil {
		return fmt.Errorf("the terminal cannot be used: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &run{screen: screen, program: p, options: o, loaded: make(chan loading, 1)}
	defer r.wait()
	defer screen.Fini() // at once, even if the load takes its time to end
	defer cancel()
	return r.loop(ctx)
}

func newScreen(tty tcell.Tty) (tcell.Screen, error) {
	var screen tcell.Screen
	var err error
	if tty != nil {
		screen, err = tcell.NewTerminfoScreenFromTty(tty)
	} else {
		screen, err = tcell.NewScreen()
	}
	if err != nil {
		return nil, err
	}
	if err := screen.Init(); err != nil {
		return nil, err
	}
	screen.HideCursor()
	return screen, nil
}

// A run is a program on the screen.
type run struct {
	screen  tcell.Screen
	program Program
	options Options
	loaded  chan loading // has room for one, so that a load never waits
	busy    bool         // a load is under way
	again   bool         // load once more when it has ended
}

// A loading is how a load ended.
type loading struct {
	put   func()
	panic any
	stack []byte
}

func (r *run) loop(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	r.load(ctx)
	r.draw()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-r.screen.EventQ():
			if !ok {
				return errors.New("the terminal is gone")
			}
			switch r.event(e) {
			case Quit:
				return nil
			case Reload:
				r.load(ctx)
			}
		case l := <-r.loaded:
			r.busy = false
			if l.panic != nil {
				panic(fmt.Sprintf("%v\n%s", l.panic, l.stack))
			}
			if l.put != nil {
				l.put()
			}
			if r.again {
				r.again = false
				r.load(ctx)
			} else {
				timer.Reset(r.options.Every())
			}
		case <-timer.C:
			r.load(ctx)
		}
		r.draw()
	}
}

// event handles a key, or another event of the terminal.
func (r *run) event(e tcell.Event) Action {
	switch e := e.(type) {
	case *tcell.EventResize:
		r.screen.Sync()
	case *tcell.EventKey:
		name := names[e.Key()]
		if e.Key() == tcell.KeyRune {
			name = e.Str()
		}
		switch name {
		case "":
			return Stay
		case "ctrl-l":
			r.screen.Sync()
			return Stay
		case "ctrl-z":
			r.suspend()
			return Stay
		case "ctrl-c":
			return Quit
		}
		return r.program.Key(name)
	case *tcell.EventError:
		panic(fmt.Sprintf("terminal: %v", e))
	}
	return Stay
}

// load begins a load, or has one follow the load that is under way.
func (r *run) load(ctx context.Context) {
	if r.busy {
		r.again = true
		return
	}
	r.busy = true
	read := r.program.Load()
	if read == nil {
		r.loaded <- loading{}
		return
	}
	go func() {
		var l loading
		defer func() {
			if l.panic = recover(); l.panic != nil { // the loop restores the terminal first
				l.stack = debug.Stack()
			}
			r.loaded <- l
		}()
		l.put = read(ctx)
	}()
}

// wait waits for the load that is under way, whose context has ended.
func (r *run) wait() {
	if r.busy {
		<-r.loaded
	}
}

func (r *run) draw() {
	width, height := r.screen.Size()
	if width < 1 || height < 1 {
		return
	}
	g := r.program.Draw(width, height)
	r.screen.Clear()
	for y := range min(height, g.Height) {
		for x := range min(width, g.Width) {
			c := g.At(x, y)
			if c.Text != "" || c.Style != (chart.Style{}) && (x == 0 || !g.At(x-1, y).Wide) {
				text := c.Text
				if text == "" {
					text = " "
				}
				r.screen.Put(x, y, text, style(c.Style))
			}
		}
	}
	r.screen.Show()
}

func style(s chart.Style) tcell.Style {
	out := tcell.StyleDefault.Bold(s.Bold).Dim(s.Dim).Reverse(s.Reverse)
	if s.Color > 0 {
		out = out.Foreground(color.PaletteColor(int(s.Color) - 1))
	}
	return out
}
