package web

import (
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Config is what the pages are about.
type Config struct {
	Store   core.Engine
	RPC     rondov1.RondoHandler // answers what plain pages ask; nil means that they show little
	Pages   Pages                // saved pages of graphs; nil means none
	Version string
	DB      string // the database's folder, as the status page shows it
	Started time.Time
	// Ways returns the addresses at which samples come in; nil means none.
	Ways func() []Way
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Location is the time zone of pictures that ask for none; nil means time.Local.
	Location *time.Location
}

// Pages are saved pages of graphs: a *dashboards.Folder, or a cluster's.
type Pages interface {
	// ReadFor returns a page as a user may see it, with the errors of a *dashboards.Folder.
	ReadFor(u *access.User, name string) (text string, p *dashboards.Page, err error)
}

// A Way is an address at which samples come in.
type Way struct{ Name, Addr string }

// A Server serves the pages of one store.
type Server struct {
	Config
	drawing *limit.Limit // graphs that are being drawn
	gallery *gallery
	counts  counts
}

// New returns a server of pages.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Location == nil {
		c.Location = time.Local
	}
	if c.RPC == nil {
		c.RPC = rondov1.UnimplementedRondoHandler{}
	}
	return &Server{Config: c, drawing: limit.New(drawingPlaces(), drawingPlaces()), gallery: newGallery()}
}
