package profiletest

import (
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// manifest answers a request for a manifest.
func (s *Server) manifest(c call) {
	switch c.r.Method {
	case http.MethodPut:
		s.putManifest(c)
	case http.MethodDelete:
		s.deleteManifest(c)
	default:
		d, isTag := s.find(c.repository, c.name)
		m, ok := c.repository.manifests[d]
		if !ok || !s.visible(c.repository, d) {
			s.refuse(c, s.unknown)
			return
		}
		if !isTag || !s.noTagDigest || c.r.Method == http.MethodHead {
			c.w.Header().Set("Docker-Content-Digest", d.String())
		}
		c.w.Header().Set("Content-Type", m.contentType)
		c.w.Header().Set("Content-Length", strconv.Itoa(len(m.raw)))
		if c.r.Method == http.MethodGet {
			_, _ = io.WriteString(c.w, m.raw)
		}
	}
}

// find returns the digest of a tag, or of a digest.
func (s *Server) find(r *repository, name string) (d digest.Digest, isTag bool) {
	if strings.Contains(name, ":") {
		return digest.Digest(name), false
	}
	return r.tags[s.tag(name)], true
}

func (s *Server) tag(name string) string {
	if s.foldsTags {
		return strings.ToLower(name)
	}
	return name
}

// tagged reports whether a manifest has a tag.
func (r *repository) tagged(d digest.Digest) bool {
	return slices.Contains(slices.Collect(maps.Values(r.tags)), d)
}

// parents returns the indexes that list a manifest.
func (r *repository) parents(d digest.Digest) iter.Seq[digest.Digest] {
	return func(yield func(digest.Digest) bool) {
		for parent, m := range r.manifests {
			if slices.ContainsFunc(m.Manifests, func(child ocispec.Descriptor) bool { return child.Digest == d }) && !yield(parent) {
				return
			}
		}
	}
}

// visible reports whether clients see a manifest.
func (s *Server) visible(r *repository, d digest.Digest) bool {
	if !s.hides || r.tagged(d) || r.temporary[d] {
		return true
	}
	for parent := range r.parents(d) {
		if r.tagged(parent) {
			return true
		}
	}
	return false
}

// A push is a manifest that a client sends.
type push struct {
	manifest
	digest digest.Digest
	tag    string        // "" by digest
	before digest.Digest // what the tag names
}

// names reports whether a digest is the one of some bytes.
func (s *Server) names(d digest.Digest, of []byte) bool {
	return d.Validate() == nil && d == d.Algorithm().FromBytes(of) && (!s.onlySHA256 || d.Algorithm() == digest.SHA256)
}

func (s *Server) putManifest(c call) {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxManifest))
	if err != nil {
		return // the client disconnected
	}
	p := push{manifest: manifest{raw: string(raw), contentType: c.r.Header.Get("Content-Type")}, digest: digest.FromBytes(raw)}
	if json.Unmarshal(raw, &p.manifest) != nil {
		s.refuse(c, refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid"})
		return
	}
	if d, isTag := s.find(c.repository, c.name); isTag {
		p.tag = s.tag(c.name)
		p.before = c.repository.tags[p.tag]
	} else if p.digest = d; !s.names(d, raw) {
		if !s.renames || d.Validate() != nil {
			s.refuse(c, s.wrongManifest)
			return
		}
		p.digest = digest.FromBytes(raw)
	}
	for _, check := range s.onPush {
		if no := check(c.repository, p); no != nil {
			s.refuse(c, *no)
			return
		}
	}
	for _, child := range p.Manifests {
		if _, ok := c.repository.manifests[child.Digest]; !ok {
			s.refuse(c, s.childMissing)
			return
		}
	}
	for _, blob := range append(slices.Clip(p.Layers), p.Config) {
		if _, ok := c.repository.blobs[blob.Digest]; !ok && blob.Digest != "" && len(blob.URLs) == 0 {
			s.refuse(c, s.blobMissing)
			return
		}
	}
	c.repository.manifests[p.digest] = p.manifest
	if p.tag == "" {
		c.repository.temporary[p.digest] = true
	} else {
		c.repository.tags[p.tag] = p.digest
		s.dropUntagged(c.repository, p.before)
	}
	if p.Subject != nil && !s.noSubject {
		c.w.Header().Set("OCI-Subject", p.Subject.Digest.String())
	}
	c.w.Header().Set("Location", s.location(c, "/v2/"+c.path+"/manifests/"+p.digest.String()))
	c.w.Header().Set("Docker-Content-Digest", p.digest.String())
	c.w.WriteHeader(http.StatusCreated)
}

// dropUntagged deletes a manifest that lost its last tag, at registries where tags own manifests.
func (s *Server) dropUntagged(r *repository, d digest.Digest) {
	if s.tagsOwn && !r.tagged(d) && !r.temporary[d] {
		delete(r.manifests, d)
	}
}

func (s *Server) deleteManifest(c call) {
	d, isTag := s.find(c.repository, c.name)
	for _, check := range s.onDelete {
		if no := check(c.repository, d, c.name, isTag); no != nil {
			s.refuse(c, *no)
			return
		}
	}
	if _, ok := c.repository.manifests[d]; !ok || !s.visible(c.repository, d) {
		s.refuse(c, s.unknown)
		return
	}
	if isTag {
		delete(c.repository.tags, s.tag(c.name))
		s.dropUntagged(c.repository, d)
	} else {
		s.remove(c.repository, d)
	}
	c.w.WriteHeader(http.StatusAccepted)
}

// remove deletes a manifest.
func (s *Server) remove(r *repository, d digest.Digest) {
	m := r.manifests[d]
	if s.hides {
		maps.DeleteFunc(r.tags, func(_ string, of digest.Digest) bool { return of == d })
		return // it stays until its garbage is collected
	}
	delete(r.manifests, d)
	delete(r.temporary, d)
	if !s.keepsTags {
		maps.DeleteFunc(r.tags, func(_ string, of digest.Digest) bool { return of == d })
	}
	if !s.cascades {
		return
	}
	for _, child := range m.Manifests {
		if _, ok := r.manifests[child.Digest]; ok && !r.tagged(child.Digest) && len(slices.Collect(r.parents(child.Digest))) == 0 {
			s.remove(r, child.Digest)
		}
	}
	for other, referrer := range r.manifests {
		if referrer.Subject != nil && referrer.Subject.Digest == d {
			s.remove(r, other)
		}
	}
}

func (s *Server) referrers(c call) {
	if s.noReferrers != nil {
		s.refuse(c, *s.noReferrers)
		return
	}
	subject := digest.Digest(c.name)
	if _, ok := c.repository.manifests[subject]; s.unknownSubject != nil && (!ok || !s.visible(c.repository, subject)) {
		s.refuse(c, *s.unknownSubject)
		return
	}
	list := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	only := c.r.URL.Query().Get("artifactType")
	if only != "" {
		c.w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	for d, m := range c.repository.manifests {
		if m.Subject != nil && m.Subject.Digest == subject && s.visible(c.repository, d) {
			artifactType := m.ArtifactType
			if artifactType == "" {
				artifactType = m.Config.MediaType
			}
			if only != "" && artifactType != only {
				continue
			}
			list.Manifests = append(list.Manifests, ocispec.Descriptor{
				MediaType: m.contentType, Digest: d, Size: int64(len(m.raw)), ArtifactType: artifactType, Annotations: m.Annotations,
			})
		}
	}
	respond(c, http.StatusOK, ocispec.MediaTypeImageIndex, list)
}

// list answers a request for a list of tags or repositories.
func (s *Server) list(c call, names []string, kind string) {
	slices.Sort(names)
	query := c.r.URL.Query()
	n, err := strconv.Atoi(query.Get("n"))
	if err != nil || n < 0 || query.Get("n") == "" {
		n = len(names) + 1
	}
	if s.pageMax > 0 {
		n = min(n, s.pageMax)
	}
	last := query.Get("last")
	names = slices.DeleteFunc(names, func(name string) bool { return last != "" && name <= last })
	more := len(names) > n
	names = names[:min(n, len(names))]
	if link := s.link(c, n, names, more); link != "" {
		c.w.Header().Set("Link", "<"+link+`>; rel="next"`)
	}
	if len(names) == 0 && !s.nullLists {
		names = []string{}
	}
	respond(c, http.StatusOK, "application/json", map[string]any{"name": c.path, kind: names})
}
