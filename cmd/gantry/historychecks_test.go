package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A gotManifest is a manifest as a registry has it.
type gotManifest struct {
	MediaType string
	Manifests []ocispec.Descriptor
	Subject   *ocispec.Descriptor
	digest    digest.Digest
	raw       []byte
}

// get returns a manifest, nil if the registry does not have it.
func get(t *testing.T, from *rt.Server, repository, name string) *gotManifest {
	t.Helper()
	status, header, raw := rawRequest(t, http.MethodGet, from.URL()+"/v2/"+repository+"/manifests/"+name)
	if status == http.StatusNotFound {
		return nil
	}
	m := &gotManifest{digest: digest.FromBytes(raw), raw: raw}
	if err := json.Unmarshal(raw, m); err != nil || status != http.StatusOK {
		t.Fatalf("%s of %s: %d %v", name, repository, status, err)
	}
	m.MediaType = header.Get("Content-Type")
	return m
}

// recorded returns the tags of the records in a mirror.
func (h *history) recorded(prefix string) (tags []string) {
	all, err := h.mirror.Repositories(".")
	h.check(err)
	for _, r := range all {
		if r.Name == prefix+"/gantry-image-sets" {
			tags = slices.Collect(maps.Keys(r.Tags))
		}
	}
	return tags
}

// closure adds a manifest with everything that belongs to it: children, and signatures and referrers with their lists.
func (h *history) closure(from *rt.Server, repository, name string, to map[digest.Digest]bool) {
	m := get(h.t, from, repository, name)
	if m == nil || to[m.digest] {
		return
	}
	to[m.digest] = true
	for _, child := range m.Manifests {
		h.closure(from, repository, child.Digest.String(), to)
	}
	if m.Subject != nil {
		h.closure(from, repository, m.Subject.Digest.String(), to)
	}
	for _, ending := range []string{"", ".sig"} {
		h.closure(from, repository, fallbackTag(m.digest)+ending, to)
	}
}

// checkMirror checks the mirror after something happened to it.
func (h *history) checkMirror(after string) {
	h.t.Helper()
	fail := func(format string, args ...any) {
		h.t.Helper()
		h.t.Errorf("after "+after+": "+format, args...)
	}
	for set := range h.sets {
		if len(h.sets[set]) == 0 && len(h.recorded(h.prefix(set))) == 0 {
			continue // the last image set of its mirror was given up
		}
		// The cluster resources of a workspace lack what the other one mirrored since.
		if o := h.gantry("verify", "--deep", h.to(set), "--workspace", h.path("none")); o.code != exitOK {
			fail("verify ended with %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	allowed := map[string]map[digest.Digest]bool{}
	at := func(repository string) map[digest.Digest]bool {
		if allowed[repository] == nil {
			allowed[repository] = map[digest.Digest]bool{}
		}
		return allowed[repository]
	}
	for n, set := range h.sets {
		for i, d := range set {
			tag, name := "v1", "v1"
			if d != "" {
				tag, name = pinTag(d), d.String()
			}
			repository := h.prefix(n) + "/" + imageOf(i)
			wanted := get(h.t, h.source, imageOf(i), name)
			if got := get(h.t, h.mirror, repository, tag); got == nil || got.digest != wanted.digest {
				fail("%s:%s is not %s", repository, tag, wanted.digest)
			}
			if _, err := h.mirror.Client().Pull(h.t.Context(), repository, tag); err != nil && h.prefix(n) == "m" { // the other one lacks platforms
				fail("%v", err)
			}
			h.checkReferrers(repository, i, wanted.digest, fail)
			h.closure(h.source, imageOf(i), name, at(repository))
		}
	}
	h.checkForeign(at, fail)
	untagged := !strings.Contains(after, "untagged")
	if untagged {
		h.checkSubjects(fail)
	}
	h.checkLeft(allowed, untagged, fail)
}

// checkLeft checks that the mirror has nothing else, beside what belongs to that, and lists of referrers that were
// replaced, while the registry keeps what has no tag. Garbage collection with --delete-untagged keeps a manifest without
// a tag if another repository has the same manifest with one.
func (h *history) checkLeft(allowed map[string]map[digest.Digest]bool, untagged bool, fail func(string, ...any)) {
	h.t.Helper()
	all, err := h.mirror.Repositories(".")
	h.check(err)
	repositories := map[digest.Digest]int{}
	for _, r := range all {
		for _, d := range r.Manifests {
			repositories[d]++
		}
	}
	for _, r := range all {
		if strings.Contains(r.Name, "/gantry-") {
			continue
		}
		for changed := true; changed; { // lists of referrers, and what they list
			before := len(allowed[r.Name])
			for _, d := range slices.Collect(maps.Keys(allowed[r.Name])) {
				delete(allowed[r.Name], d)
				h.closure(h.mirror, r.Name, d.String(), allowed[r.Name])
				allowed[r.Name][d] = true
			}
			changed = len(allowed[r.Name]) != before
		}
		for _, d := range r.Manifests {
			m := get(h.t, h.mirror, r.Name, d.String())
			replaced := h.watch.replaced[r.Name+"@"+d.String()] && (untagged || repositories[d] > 1)
			if m != nil && !allowed[r.Name][d] && !replaced && !h.belongsToKept(r, d, m) {
				fail("no image set wants %s@%s, beside the tags %v: %s", r.Name, d, r.Tags, m.raw)
			}
		}
	}
}
