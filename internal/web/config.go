package web

import (
	"log/slog"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
)

// Config is what the page is made of.
type Config struct {
	Backend Backend
	Actor   Actor  // nil: read only
	Hub     *Hub   // the daemon publishes here
	Rings   *Rings // the daemon adds readings here
	Catalog *catalog.Catalog
	Zone    *time.Location   // of times for people; nil is the machine's
	Lang    string           // where a browser asks for none that there is
	Hosts   []string         // names besides localhost by which the page may be asked for
	Now     func() time.Time // nil is the clock
	Log     *slog.Logger     // nil is the default
}
