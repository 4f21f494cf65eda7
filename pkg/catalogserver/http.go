package catalogserver

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Catalog is a catalog under the name by which it is asked for.
type Catalog struct {
	// Name is that of a ClusterCatalog: a DNS-1123 subdomain.
	Name    string
	Content *catalog.Catalog
	// Modified is when the catalog last changed, to the second; the zero time is
	// unknown.
	Modified time.Time
}

// HTTP serves catalogs as catalogd does. GET and HEAD of
// /catalogs/NAME/api/v1/all give every object as a line of JSON
// (application/jsonl), and /catalogs/NAME/api/v1/metas those that the parameters
// schema, package and name pick. As in catalogd an olm.package object is found by
// its name alone, since it has no member package. Answers have Last-Modified and
// heed conditional and range requests, and are compressed for who accepts gzip.
//
// The error is a name that is no DNS-1123 subdomain, or that is there twice.
func HTTP(catalogs ...Catalog) (http.Handler, error) {
	byName := map[string]Catalog{}
	for _, c := range catalogs {
		if len(c.Name) > 253 || !regexp.MustCompile(subdomain).MatchString(c.Name) {
			return nil, fmt.Errorf("serving a catalog as %q: the name must be a DNS-1123 subdomain, like my-catalog", c.Name)
		}
		if _, twice := byName[c.Name]; twice {
			return nil, fmt.Errorf("serving a catalog as %q: another one has that name", c.Name)
		}
		byName[c.Name] = c
	}
	lines := map[string]*lines{}
	for name, c := range byName {
		all, err := newLines(objects(c.Content))
		if err != nil {
			return nil, fmt.Errorf("serving a catalog as %q: %w", name, err)
		}
		lines[name] = all
	}

	h := &httpAPI{catalogs: byName, lines: lines}
	mux := http.NewServeMux()
	mux.HandleFunc("/catalogs/{catalog}/api/v1/all", h.all)
	mux.HandleFunc("/catalogs/{catalog}/api/v1/metas", h.metas)
	return gzhttp.GzipHandler(mux), nil
}

// subdomain is the grammar of RFC 1123, as Kubernetes has it.
const subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

// objects are all objects of a catalog, in the order in which they are written
// to files.
func objects(c *catalog.Catalog) []*catalog.Meta {
	var all []*catalog.Meta
	for _, p := range c.Packages {
		all = append(all, p.Objects()...)
	}
	return append(all, c.Others...)
}

// httpAPI is the state of the handler of HTTP.
type httpAPI struct {
	catalogs map[string]Catalog
	lines    map[string]*lines
}

// all serves a catalog as a whole.
func (h *httpAPI) all(w http.ResponseWriter, r *http.Request) {
	if c, ok := h.find(w, r); ok {
		serveLines(w, r, c, h.lines[c.Name])
	}
}

// metas serves the objects that a query picks.
func (h *httpAPI) metas(w http.ResponseWriter, r *http.Request) {
	c, ok := h.find(w, r)
	if !ok {
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, "the query is malformed", http.StatusBadRequest)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "schema" && name != "package" && name != "name" {
			http.Error(w, "a query has the parameters schema, package and name, no others", http.StatusBadRequest)
			return
		}
	}
	schema, pkg, name := query.Get("schema"), query.Get("package"), query.Get("name")
	serveLines(w, r, c, h.lines[c.Name].where(func(m *catalog.Meta) bool {
		of := m.Package
		if m.Schema == catalog.SchemaPackage {
			of = ""
		}
		return (schema == "" || m.Schema == schema) && (pkg == "" || of == pkg) && (name == "" || m.Name == name)
	}))
}

// find gives the catalog of a request, or answers it.
func (h *httpAPI) find(w http.ResponseWriter, r *http.Request) (Catalog, bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "catalogs can be read only", http.StatusMethodNotAllowed)
		return Catalog{}, false
	}
	c, ok := h.catalogs[r.PathValue("catalog")]
	if !ok {
		names := slices.Sorted(maps.Keys(h.catalogs))
		http.Error(w, "there is no such catalog; there are: "+strings.Join(names, ", "), http.StatusNotFound)
		return Catalog{}, false
	}
	return c, true
}

// serveLines answers with lines of JSON.
func serveLines(w http.ResponseWriter, r *http.Request, c Catalog, all *lines) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", c.Modified, all.reader())
}
