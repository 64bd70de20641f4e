package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
)

// pageCards lists the cards; a name that was typed leads to its history.
func (s *Server) pageCards(w http.ResponseWriter, r *http.Request) {
	if name := strings.TrimSpace(r.URL.Query().Get("name")); name != "" {
		http.Redirect(w, r, "/history/"+url.PathEscape(name), http.StatusSeeOther)
		return
	}
	v := s.view(r, "cards", "History")
	cards, err := s.Backend.Cards(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v.Data = slices.SortedStableFunc(slices.Values(cards), func(a, b incident.Card) int {
		if a.Present != b.Present {
			if a.Present {
				return -1
			}
			return 1
		}
		return strings.Compare(a.GPU.PCI, b.GPU.PCI)
	})
	s.render(w, http.StatusOK, v)
}

type historyData struct {
	*show.History
	Slot bool
	Rows []incident.HistoryRow // the latest first
}

func (s *Server) pageHistory(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	v := s.view(r, "history", "History")
	h, err := s.history(r.Context(), name)
	if err != nil {
		status, hint := statusOf(err)
		s.errorPage(w, r, status, err, hint, "/history")
		return
	}
	rows := slices.Clone(h.Rows)
	slices.Reverse(rows)
	v.Title += " " + name
	v.Data = historyData{h, gpumedic.NormalPCI(name) != "", rows}
	s.render(w, http.StatusOK, v)
}

func (s *Server) pageMaintenance(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "maintenance", "Maintenance")
	list, err := s.Backend.Maintenance(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v.Data = list
	s.render(w, http.StatusOK, v)
}

type sourcesData struct {
	Sources []Source
	Unread  []unread
}

// unread is a reading that could not be read, as the page shows it.
type unread struct{ GPU, Reading, Why string }

func (s *Server) pageSources(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "sources", "Sources")
	d := sourcesData{Sources: s.Backend.Sources()}
	if v.Node.Report != nil {
		for _, u := range v.Node.Report.Unread {
			d.Unread = append(d.Unread, unread{u.Subject.GPU.String(), u.Reading, u.Why})
		}
	}
	v.Data = d
	s.render(w, http.StatusOK, v)
}
