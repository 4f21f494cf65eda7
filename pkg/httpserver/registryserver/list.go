package registryserver

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// listTags returns the tags of a repository in byte order.
func (r *Registry) listTags(w http.ResponseWriter, req *http.Request, res resource) error {
	if res.repository == nil {
		return unknownRepository(res.name)
	}
	p, err := pageOf(req)
	if err != nil {
		return err
	}
	from, to := p.cut(len(res.tags), func(last string) (int, bool) {
		return slices.BinarySearchFunc(res.tags, last, func(t tag, name string) int { return cmp.Compare(t.name, name) })
	})
	names := make([]string, 0, to-from)
	for _, t := range res.tags[from:to] {
		names = append(names, t.name)
	}
	p.link(w, req, names, to < len(res.tags))
	writeJSON(w, "application/json", http.StatusOK, struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}{res.name, names})
	return nil
}

// listRepositories returns the names of the repositories. The path comes from the CNCF distribution
// registry, not from the specification; many clients use it.
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

// A page is the requested part of a list.
type page struct {
	last string // the entry before it; "" starts at the first
	n    int    // entries; -1 means all
}

func pageOf(req *http.Request) (page, error) {
	q := req.URL.Query()
	p := page{last: q.Get("last"), n: -1}
	if !q.Has("n") {
		return p, nil
	}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil || n < 0 {
		return p, newError(http.StatusBadRequest, codePageInvalid, "n is %.40q; want a number of entries", q.Get("n"))
	}
	p.n = n
	return p, nil
}

// cut returns where the page begins and ends in a list of that many entries. find returns the index
// of an entry, or the index where it would be inserted.
func (p page) cut(entries int, find func(string) (int, bool)) (from, to int) {
	if p.last != "" {
		i, found := find(p.last)
		if found {
			i++
		}
		from = i
	}
	if p.n < 0 || p.n > entries-from {
		return from, entries
	}
	return from, from + p.n
}

// link adds the link to the next page, if any.
func (p page) link(w http.ResponseWriter, req *http.Request, names []string, more bool) {
	if !more || len(names) == 0 {
		return
	}
	next := url.URL{Path: req.URL.Path, RawQuery: url.Values{"last": {names[len(names)-1]}, "n": {strconv.Itoa(p.n)}}.Encode()}
	w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
}
