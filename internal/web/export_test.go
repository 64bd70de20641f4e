package web

// Routes are the ways in, for the test of the document.
func (s *Server) Routes() (out [][2]string) {
	for _, r := range s.routes() {
		out = append(out, [2]string{r.method, r.path})
	}
	return out
}

var (
	WordsZH     = wordsZH
	TemplateFS  = templateFS
	StaticFS    = staticFS
	Local       = local
	LineOf      = lineOf
	MaxWatchers = maxWatchers
)

// Fill takes one place of those who watch.
func (h *Hub) Fill() bool {
	_, ok := h.subscribe()
	return ok
}

// Drawn is the line of a chart.
var Drawn = drawn
