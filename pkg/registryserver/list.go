package registryserver

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// listTags answers with the tags of a repository, in the order of their bytes.
func (r *Registry) listTags(w http.ResponseWriter, req *http.Request, at place) error {
	if at.repository == nil {
		return unnamed(at.name)
	}
	p, err := pageOf(req)
	if err != nil {
		return err
	}
	from, to := p.cut(len(at.tags), func(last string) (int, bool) {
		return slices.BinarySearchFunc(at.tags, last, func(t tag, name string) int { return cmp.Compare(t.name, name) })
	})
	names := make([]string, 0, to-from)
	for _, t := range at.tags[from:to] {
		names = append(names, t.name)
	}
	p.link(w, req, names, to < len(at.tags))
	writeJSON(w, "application/json", http.StatusOK, struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}{at.name, names})
	return nil
}

// listRepositories answers with the names of the repositories. The path is not the
// specification's but that of the CNCF distribution registry, which many ask.
func (r *Registry) listRepositories(w http.ResponseWriter, req *http.Request) error {
	p, err := pageOf(req)
	if err != nil {
		return err
	}
	from, to := p.cut(len(r.names), func(last string) (int, bool) { return slices.BinarySearch(r.names, last) })
	names := append([]string{}, r.names[from:to]...)
	p.link(w, req, names, to < len(r.names))
	writeJSON(w, "application/json", http.StatusOK, struct {
		Repositories []string `json:"repositories"`
	}{names})
	return nil
}

// A page is which part of a list is wanted.
type page struct {
	last string // what stands before it
	n    int    // entries, -1 is all
}

func pageOf(req *http.Request) (page, error) {
	q := req.URL.Query()
	p := page{last: q.Get("last"), n: -1}
	if !q.Has("n") {
		return p, nil
	}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil || n < 0 {
		return p, refuse(http.StatusBadRequest, codePageInvalid, "n is %.40q and has to be a number of entries", q.Get("n"))
	}
	p.n = n
	return p, nil
}

// cut says where in a list of so many entries the page begins and ends. find says
// where an entry is, or where it would be.
func (p page) cut(entries int, find func(string) (int, bool)) (from, to int) {
	if p.last != "" {
		at, there := find(p.last)
		if there {
			at++
		}
		from = at
	}
	if p.n < 0 || p.n > entries-from {
		return from, entries
	}
	return from, from + p.n
}

// link says where the list goes on, if it does.
func (p page) link(w http.ResponseWriter, req *http.Request, names []string, more bool) {
	if !more || len(names) == 0 {
		return
	}
	next := url.URL{Path: req.URL.Path, RawQuery: url.Values{"last": {names[len(names)-1]}, "n": {strconv.Itoa(p.n)}}.Encode()}
	w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
}
