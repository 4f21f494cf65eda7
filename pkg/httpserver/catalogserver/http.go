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

// A Catalog is a catalog with the name that it is served under.
type Catalog struct {
	// Name is the name of the ClusterCatalog: a DNS-1123 subdomain.
	Name    string
	Content *catalog.Catalog
	// Modified is when the catalog last changed, in seconds; the zero time means unknown.
	Modified time.Time
}

// HTTP serves catalogs as catalogd does. GET and HEAD of /catalogs/NAME/api/v1/all return every object
// as a JSON line (application/jsonl), and /catalogs/NAME/api/v1/metas those that match the parameters
// schema, package and name. As in catalogd, an olm.package object is found by its name only, since it
// has no field package. Responses have Last-Modified, support conditional and range requests, and are
// compressed for clients that accept gzip.
//
// It is an error if a name is not a DNS-1123 subdomain or exists twice.
func HTTP(catalogs ...Catalog) (http.Handler, error) {
	byName := map[string]Catalog{}
	for _, c := range catalogs {
		if len(c.Name) > 253 || !regexp.MustCompile(subdomain).MatchString(c.Name) {
			return nil, fmt.Errorf("serving a catalog as %q: the name must be a DNS-1123 subdomain, like my-catalog", c.Name)
		}
		if _, twice := byName[c.Name]; twice {
			return nil, fmt.Errorf("serving a catalog as %q: another catalog has the same name", c.Name)
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

// subdomain is the syntax of RFC 1123 names in Kubernetes.
const subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

// objects returns all objects of a catalog, in the order of its files.
func objects(c *catalog.Catalog) []*catalog.Meta {
	var all []*catalog.Meta
	for _, p := range c.Packages {
		all = append(all, p.Objects()...)
	}
	return append(all, c.Others...)
}

// httpAPI is the handler of HTTP.
type httpAPI struct {
	catalogs map[string]Catalog
	lines    map[string]*lines
}

// all serves all objects of a catalog.
func (h *httpAPI) all(w http.ResponseWriter, r *http.Request) {
	if c, ok := h.find(w, r); ok {
		serveLines(w, r, c, h.lines[c.Name])
	}
}

// metas serves the objects that match a query.
func (h *httpAPI) metas(w http.ResponseWriter, r *http.Request) {
	c, ok := h.find(w, r)
	if !ok {
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, "malformed query", http.StatusBadRequest)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "schema" && name != "package" && name != "name" {
			http.Error(w, "unknown parameter: use schema, package and name", http.StatusBadRequest)
			return
		}
	}
	schema, pkg, name := query.Get("schema"), query.Get("package"), query.Get("name")
	serveLines(w, r, c, h.lines[c.Name].where(func(m *catalog.Meta) bool {
		owner := m.Package
		if m.Schema == catalog.SchemaPackage {
			owner = ""
		}
		return (schema == "" || m.Schema == schema) && (pkg == "" || owner == pkg) && (name == "" || m.Name == name)
	}))
}

// find returns the catalog of a request, or responds with an error.
func (h *httpAPI) find(w http.ResponseWriter, r *http.Request) (Catalog, bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "catalogs are read-only", http.StatusMethodNotAllowed)
		return Catalog{}, false
	}
	c, ok := h.catalogs[r.PathValue("catalog")]
	if !ok {
		names := slices.Sorted(maps.Keys(h.catalogs))
		http.Error(w, "no such catalog; available are: "+strings.Join(names, ", "), http.StatusNotFound)
		return Catalog{}, false
	}
	return c, true
}

// serveLines responds with JSON lines.
func serveLines(w http.ResponseWriter, r *http.Request, c Catalog, all *lines) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", c.Modified, all.reader())
}
