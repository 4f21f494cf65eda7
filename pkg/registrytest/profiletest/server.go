package profiletest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// maxManifest is the size of the largest manifest, in bytes.
const maxManifest = 8 << 20

// A Server is a registry in memory with the traits of a profile.
type Server struct {
	rules
	protection

	mu           sync.Mutex
	repositories map[string]*repository
	created      []string // prefixes of repositories that exist
	full         bool     // the quota is used up
	sessions     int      // opened uploads, also of those that ended
	uploads      map[string]*upload
}

type repository struct {
	name      string
	blobs     map[digest.Digest][]byte
	manifests map[digest.Digest]manifest
	tags      map[string]digest.Digest
	temporary map[digest.Digest]bool // manifests that were pushed by digest
}

// A manifest has the fields of manifests and indexes.
type manifest struct {
	raw, contentType string

	ArtifactType string
	Config       ocispec.Descriptor
	Layers       []ocispec.Descriptor
	Manifests    []ocispec.Descriptor
	Subject      *ocispec.Descriptor
	Annotations  map[string]string
}

// A call is a request to a repository, or to the whole registry if repository is nil.
type call struct {
	w          http.ResponseWriter
	r          *http.Request
	kind       string // "manifests", "blobs", "uploads", "tags", "referrers", "_catalog", "" for the root
	name       string // what follows: a tag, digest or session
	path       string // of the repository
	repository *repository
}

// New returns an empty registry with the traits of a profile.
func New(p Profile) *Server {
	s := &Server{repositories: map[string]*repository{}, uploads: map[string]*upload{}}
	s.rules = specified()
	for _, t := range p.Traits {
		t.apply(&s.rules)
	}
	return s
}

// Create makes repositories, projects or organizations with these prefixes exist.
func (s *Server) Create(prefixes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created = append(s.created, prefixes...)
}

// Fill uses up the quota, if the profile has one.
func (s *Server) Fill(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// Age makes an hour pass: what is kept only for a time ends.
func (s *Server) Age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repositories {
		maps.DeleteFunc(r.temporary, func(d digest.Digest, _ bool) bool { return s.hides && r.manifests[d].Subject == nil })
	}
}

// ServeHTTP answers a request of the distribution specification.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens != nil && s.realm != "" && r.URL.Path == s.realm {
		s.issue(call{w: w, r: r})
		return
	}
	c, ok := parse(w, r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if s.tokens != nil && !s.admits(c) {
		return
	}
	if c.path != "" {
		c.repository = s.repositories[c.path]
	}
	for _, check := range s.before {
		if no := check(s, c); no != nil {
			s.refuse(c, *no)
			return
		}
	}
	if c.repository == nil && c.path != "" {
		if c.kind != "referrers" && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete) {
			s.refuse(c, refusal{status: http.StatusNotFound, code: "NAME_UNKNOWN", message: "repository name not known to registry"})
			return
		}
		c.repository = &repository{c.path, map[digest.Digest][]byte{}, map[digest.Digest]manifest{}, map[string]digest.Digest{}, map[digest.Digest]bool{}}
		if c.kind != "referrers" { // which are an empty list, also of a repository that is absent
			s.repositories[c.path] = c.repository
		}
	}
	switch c.kind {
	case "manifests":
		s.manifest(c)
	case "blobs":
		s.blob(c)
	case "uploads":
		s.upload(c)
	case "tags":
		s.list(c, slices.Collect(maps.Keys(c.repository.tags)), "tags")
	case "_catalog":
		var names []string
		for name, r := range s.repositories {
			if len(r.tags) > 0 {
				names = append(names, name)
			}
		}
		s.list(c, names, "repositories")
	case "referrers":
		s.referrers(c)
	}
}

// parse divides a path into its parts.
func parse(w http.ResponseWriter, r *http.Request) (call, bool) {
	c := call{w: w, r: r}
	path, ok := strings.CutPrefix(r.URL.Path, "/v2/")
	switch {
	case !ok:
		return c, false
	case path == "":
		return c, true
	case path == "_catalog":
		c.kind = path
		return c, true
	}
	for _, kind := range []string{"blobs/uploads", "manifests", "blobs", "tags", "referrers"} {
		if i := strings.LastIndex(path, "/"+kind+"/"); i > 0 {
			c.path, c.name = path[:i], path[i+len(kind)+2:]
			c.kind = strings.TrimPrefix(kind, "blobs/")
			return c, true
		}
	}
	return c, false
}

// A refusal is a response that is an error.
type refusal struct {
	status        int
	code, message string
	detail        string // a message in the detail; "" for none
	challenge     string // WWW-Authenticate; "" for none
}

func (s *Server) refuse(c call, no refusal) {
	_, _ = io.Copy(io.Discard, c.r.Body) // as far as the client sends it
	contentType, text := s.form(no)
	c.w.Header().Set("Content-Type", contentType)
	if no.challenge != "" {
		c.w.Header().Set("WWW-Authenticate", no.challenge)
	}
	c.w.WriteHeader(no.status)
	_, _ = io.WriteString(c.w, text)
}

// specifiedForm is the form of errors in the distribution specification.
func specifiedForm(no refusal) (contentType, text string) {
	detail := "{}"
	if no.detail != "" {
		detail = fmt.Sprintf(`{"message":%q}`, no.detail)
	}
	return "application/json", fmt.Sprintf(`{"errors":[{"code":%q,"message":%q,"detail":%s}]}`, no.code, no.message, detail)
}

func respond(c call, status int, contentType string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(c.w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(text)
}
