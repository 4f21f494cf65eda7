package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The functions in this file ask registries directly. They share no code with the program.

// A rawManifest is what a manifest refers to.
type rawManifest struct {
	Digest    string `json:"-"`
	Size      int64  `json:"-"`
	Config    rawDescriptor
	Layers    []rawDescriptor
	Manifests []rawDescriptor
}

type rawDescriptor struct {
	Digest string
	Size   int64
}

// rawRequest sends a request to a registry.
func rawRequest(t *testing.T, method, url string) (status int, header http.Header, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	fail.On(t, err)
	request.Header.Set("Accept", "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "+
		"application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json")
	response, err := http.DefaultClient.Do(request)
	fail.On(t, err)
	body, err = io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, body
}

// A rawReader reads manifests of a registry, each digest once.
type rawReader struct {
	url  string
	read map[string]*rawManifest // by digest
}

// manifest reads a manifest; nil if the registry does not have it.
func (c *rawReader) manifest(t *testing.T, repository, identifier string) *rawManifest {
	t.Helper()
	if m := c.read[identifier]; m != nil {
		return m
	}
	status, header, body := rawRequest(t, http.MethodGet, c.url+"/v2/"+repository+"/manifests/"+identifier)
	if status == http.StatusNotFound {
		return nil
	}
	m := &rawManifest{Digest: header.Get("Docker-Content-Digest"), Size: int64(len(body))}
	if err := json.Unmarshal(body, m); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s:%s: %d, %v\n%s", repository, identifier, status, err, body)
	}
	c.read[m.Digest] = m
	return m
}

// tree returns an image with everything that its index lists.
func (c *rawReader) tree(t *testing.T, repository, identifier string) []*rawManifest {
	t.Helper()
	m := c.manifest(t, repository, identifier)
	if m == nil {
		t.Errorf("%s has no %s@%s", c.url, repository, identifier)
		return nil
	}
	all := []*rawManifest{m}
	for _, child := range m.Manifests {
		all = append(all, c.tree(t, repository, child.Digest)...)
	}
	return all
}

// storedManifests lists the manifests of content below a prefix, as repository@digest.
func storedManifests(t *testing.T, s *registrytest.Server, prefix string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, r := range contentBelow(t, s, prefix) {
		for _, d := range r.Manifests {
			all[r.Name+"@"+d.String()] = true
		}
		for tag, d := range r.Tags {
			if !slices.Contains(r.Manifests, d) {
				t.Errorf("%s:%s is %s, which is not there", r.Name, tag, d)
			}
		}
	}
	return all
}

// without returns what is in a and not in b, sorted.
func without(a, b map[string]bool) []string {
	all := maps.Clone(a)
	maps.DeleteFunc(all, func(key string, _ bool) bool { return b[key] })
	return slices.Sorted(maps.Keys(all))
}
