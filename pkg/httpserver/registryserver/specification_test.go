package registryserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// The tests in this file follow the sections "Pull" and "Content Discovery" of the OCI distribution
// specification, version 1.1, in their order.

const both = "GET HEAD"

// everyMethod requests a path with each of the methods.
func everyMethod(t *testing.T, s *site, methods, path string, check func(a answer), header ...string) {
	t.Helper()
	for method := range strings.FieldsSeq(methods) {
		check(s.ask(t, method, path, header...))
	}
}

// library returns a registry with an image, an index in both families of media types, and two
// repositories that share content.
func library(t *testing.T) (s *site, one, list, docker registryserver.Image) {
	t.Helper()
	sh := newMemorySource()
	one = sh.image(t, nil, "layer one", strings.Repeat("layer two ", 100))
	two := sh.image(t, nil, "layer one", "layer three")
	list = sh.index(t, ocispec.MediaTypeImageIndex, one, two)
	docker = sh.index(t, manifest.DockerList, two)
	return serve(t, sh,
		at("acme/app", one, "v1", "latest"), at("acme/app", list, "multi"), at("acme/app", docker, "docker"),
		at("library/two", two, "v2"), at("a/manifests/blobs", two, "tags")), one, list, docker
}

func TestAPIVersion(t *testing.T) {
	t.Parallel()
	s, _, _, _ := library(t)
	for _, path := range []string{"/v2/", "/v2"} {
		everyMethod(t, s, both, path, func(a answer) {
			a.want(t, http.StatusOK, "", "Content-Type", "application/json", "Docker-Distribution-Api-Version", "registry/2.0")
		})
	}
	s.ask(t, "GET", "/").want(t, http.StatusNotFound, "UNSUPPORTED")
	s.ask(t, "GET", "/v1/_ping").want(t, http.StatusNotFound, "UNSUPPORTED")
	s.ask(t, "GET", "/v2/acme/app/tags").want(t, http.StatusNotFound, "UNSUPPORTED")
}

// TestPullManifests pulls manifests by tag and by digest, and checks that the media type is the
// manifest's own, and that the content matches the digest.
func TestPullManifests(t *testing.T) {
	t.Parallel()
	s, one, list, docker := library(t)
	for reference, want := range map[string]ocispec.Descriptor{
		"v1": one.Manifests[0], "latest": one.Manifests[0], "multi": list.Manifests[0], "docker": docker.Manifests[0],
		one.Manifests[0].Digest.String():    one.Manifests[0],
		list.Manifests[0].Digest.String():   list.Manifests[0],
		list.Manifests[2].Digest.String():   list.Manifests[2], // a child without a tag
		docker.Manifests[0].Digest.String(): docker.Manifests[0],
	} {
		for _, accept := range []string{"", "*/*", want.MediaType, ocispec.MediaTypeImageManifest + ", " + ocispec.MediaTypeImageIndex, "text/html"} {
			everyMethod(t, s, both, "/v2/acme/app/manifests/"+reference, func(a answer) {
				a.want(t, http.StatusOK, "", "Content-Type", want.MediaType, "Docker-Content-Digest", want.Digest.String(),
					"Content-Length", fmt.Sprint(want.Size), "Etag", `"`+want.Digest.String()+`"`)
				if a.Request.Method == http.MethodGet && digest.FromString(a.body) != want.Digest {
					t.Errorf("%s: the body has another digest:\n%s", reference, a.body)
				}
			}, "Accept", accept)
		}
	}
}

// TestNoManifest checks that the status is 404 for any manifest or repository that does not exist.
func TestNoManifest(t *testing.T) {
	t.Parallel()
	s, one, _, docker := library(t)
	layer := one.Blobs[1].Digest.String()
	for path, code := range map[string]string{
		"/v2/acme/app/manifests/v2":                                        "MANIFEST_UNKNOWN",
		"/v2/acme/app/manifests/.INVALID_MANIFEST_NAME":                    "MANIFEST_UNKNOWN",
		"/v2/acme/app/manifests/" + digest.FromString("nothing").String():  "MANIFEST_UNKNOWN",
		"/v2/acme/app/manifests/" + layer:                                  "MANIFEST_UNKNOWN", // a blob
		"/v2/library/two/manifests/" + docker.Manifests[0].Digest.String(): "MANIFEST_UNKNOWN", // in another repository
		"/v2/acme/none/manifests/v1":                                       "NAME_UNKNOWN",
		"/v2/acme/manifests/v1":                                            "NAME_UNKNOWN",
	} {
		everyMethod(t, s, both, path, func(a answer) { a.want(t, http.StatusNotFound, code, "Docker-Content-Digest", "") })
	}
	for path, code := range map[string]string{
		"/v2/acme/app/manifests/sha256:totallywrong": "DIGEST_INVALID",
		"/v2/acme/app/manifests/md5:0123":            "DIGEST_INVALID",
		"/v2/Acme/app/manifests/v1":                  "NAME_INVALID",
		"/v2/acme/../app/manifests/v1":               "NAME_INVALID",
	} {
		everyMethod(t, s, both, path, func(a answer) { a.want(t, http.StatusBadRequest, code) })
	}
}

// TestNamesLikePaths checks that names may contain the words that separate the parts of a path.
func TestNamesLikePaths(t *testing.T) {
	t.Parallel()
	s, _, _, _ := library(t)
	s.ask(t, "GET", "/v2/a/manifests/blobs/manifests/tags").want(t, http.StatusOK, "", "Content-Type", ocispec.MediaTypeImageManifest)
	a := s.ask(t, "GET", "/v2/a/manifests/blobs/tags/list").want(t, http.StatusOK, "")
	if a.body != `{"name":"a/manifests/blobs","tags":["tags"]}`+"\n" {
		t.Error(a.body)
	}
}

// TestPullBlobs pulls blobs by digest, in the repositories that have them.
func TestPullBlobs(t *testing.T) {
	t.Parallel()
	s, one, _, docker := library(t)
	for _, desc := range one.Blobs {
		everyMethod(t, s, both, "/v2/acme/app/blobs/"+desc.Digest.String(), func(a answer) {
			a.want(t, http.StatusOK, "", "Content-Type", "application/octet-stream", "Docker-Content-Digest", desc.Digest.String(),
				"Content-Length", fmt.Sprint(desc.Size), "Etag", `"`+desc.Digest.String()+`"`, "Accept-Ranges", "bytes")
			if a.Request.Method == http.MethodGet && digest.FromString(a.body) != desc.Digest {
				t.Errorf("%s: the body has another digest", desc.Digest)
			}
		})
	}
	s.ask(t, "GET", "/v2/library/two/blobs/"+docker.Blobs[1].Digest.String()).want(t, http.StatusOK, "")
	for _, d := range []digest.Digest{
		digest.FromString("hello world"), one.Manifests[0].Digest, // a manifest
		docker.Manifests[0].Digest,
	} {
		everyMethod(t, s, both, "/v2/acme/app/blobs/"+d.String(), func(a answer) { a.want(t, http.StatusNotFound, "BLOB_UNKNOWN") })
	}
	// No image in this repository has this layer.
	everyMethod(t, s, both, "/v2/library/two/blobs/"+one.Blobs[2].Digest.String(), func(a answer) {
		a.want(t, http.StatusNotFound, "BLOB_UNKNOWN")
	})
	everyMethod(t, s, both, "/v2/acme/app/blobs/sha256:xyz", func(a answer) { a.want(t, http.StatusBadRequest, "DIGEST_INVALID") })
	everyMethod(t, s, both, "/v2/acme/none/blobs/"+one.Blobs[1].Digest.String(), func(a answer) { a.want(t, http.StatusNotFound, "NAME_UNKNOWN") })
}

// TestNothingChanges checks that pushes, deletions and mounts are refused as unsupported.
func TestNothingChanges(t *testing.T) {
	t.Parallel()
	s, one, _, _ := library(t)
	d := one.Manifests[0].Digest.String()
	for _, request := range []string{
		"POST /v2/acme/app/blobs/uploads/", "POST /v2/acme/app/blobs/uploads/?mount=" + d + "&from=library/two",
		"PATCH /v2/acme/app/blobs/uploads/1", "PUT /v2/acme/app/blobs/uploads/1?digest=" + d,
		"PUT /v2/acme/app/manifests/v1", "PUT /v2/acme/app/manifests/" + d, "PUT /v2/acme/none/manifests/v1",
		"DELETE /v2/acme/app/manifests/v1", "DELETE /v2/acme/app/blobs/" + d, "OPTIONS /v2/", "TRACE /v2/",
	} {
		method, path, _ := strings.Cut(request, " ")
		s.ask(t, method, path).want(t, http.StatusMethodNotAllowed, "UNSUPPORTED", "Allow", "GET, HEAD")
	}
	// Invalid digests and names are reported first.
	s.ask(t, "PUT", "/v2/acme/app/manifests/sha256:totallywrong").want(t, http.StatusBadRequest, "DIGEST_INVALID")
	s.ask(t, "PUT", "/v2/Acme/app/manifests/v1").want(t, http.StatusBadRequest, "NAME_INVALID")
	s.ask(t, "GET", "/v2/acme/app/blobs/uploads/").want(t, http.StatusNotFound, "UNSUPPORTED")
	if reads := s.reads(); reads != nil {
		t.Errorf("it read %v", reads)
	}
}

// list requests a list and returns its entries and the path of the next page.
func list(t *testing.T, s *site, path, field string) (entries []string, next string) {
	t.Helper()
	a := s.ask(t, "GET", path).want(t, http.StatusOK, "", "Content-Type", "application/json")
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &all); err != nil || string(all[field]) == "null" {
		t.Fatalf("%s: %s, %v", path, a.body, err)
	}
	fail.On(t, json.Unmarshal(all[field], &entries))
	if link := a.Header.Get("Link"); link != "" {
		target, ok := strings.CutSuffix(link, `>; rel="next"`)
		if !ok || target[0] != '<' {
			t.Fatalf("%s: the link is %q", path, link)
		}
		next = target[1:]
	}
	return entries, next
}

// TestLists checks that lists are sorted by bytes, start after last, have at most n entries, and
// link to the next page, if any.
func TestLists(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	img := sh.image(t, nil, "x")
	s := serve(t, sh, at("b", img, "v10", "v2", "V1", "a"), at("b", img, "v2", "z_1"), at("c", img), at("a/x", img, "t"), at("a-x", img))
	for _, x := range []struct {
		path, field string
		want        []string
	}{
		{"/v2/b/tags/list", "tags", []string{"V1", "a", "v10", "v2", "z_1"}},
		{"/v2/_catalog", "repositories", []string{"a-x", "a/x", "b", "c"}},
		{"/v2/c/tags/list", "tags", []string{}},
	} {
		got, next := list(t, s, x.path, x.field)
		if diff := cmp.Diff(x.want, got); diff != "" || next != "" {
			t.Errorf("%s (-want +got, next %q):\n%s", x.path, next, diff)
		}
		if got, next := list(t, s, x.path+"?n=0", x.field); len(got) != 0 || next != "" {
			t.Errorf("%s: with n=0 it is %q, next %q", x.path, got, next)
		}
		for n := 1; n <= len(x.want)+1; n++ {
			var all []string
			pages := 0
			for path := fmt.Sprintf("%s?n=%d", x.path, n); path != ""; pages++ {
				page, next := list(t, s, path, x.field)
				if len(page) > n {
					t.Errorf("%s has %d entries", path, len(page))
				}
				all, path = append(all, page...), next
			}
			if diff := cmp.Diff(x.want, append([]string{}, all...)); diff != "" || pages != max(1, (len(x.want)+n-1)/n) {
				t.Errorf("%s in %d pages of %d (-want +got):\n%s", x.path, pages, n, diff)
			}
		}
	}
	// last does not have to be an entry, n is optional, and invalid values are allowed for both.
	for query, want := range map[string][]string{
		"last=v10":                      {"v2", "z_1"},
		"last=b":                        {"v10", "v2", "z_1"},
		"last=zz":                       {},
		"last=&n=5":                     {"V1", "a", "v10", "v2", "z_1"},
		"last=v2&n=99":                  {"z_1"},
		"n=9223372036854775807&last=v2": {"z_1"},
	} {
		got, next := list(t, s, "/v2/b/tags/list?"+query, "tags")
		if diff := cmp.Diff(want, got); diff != "" || next != "" {
			t.Errorf("%s (-want +got, next %q):\n%s", query, next, diff)
		}
	}
	for _, n := range []string{"-1", "x", "", "1.5", "99999999999999999999"} {
		s.ask(t, "GET", "/v2/b/tags/list?n="+n).want(t, http.StatusBadRequest, "PAGINATION_NUMBER_INVALID")
		s.ask(t, "GET", "/v2/_catalog?n="+n).want(t, http.StatusBadRequest, "PAGINATION_NUMBER_INVALID")
	}
	everyMethod(t, s, both, "/v2/none/tags/list", func(a answer) { a.want(t, http.StatusNotFound, "NAME_UNKNOWN") })
}

// TestReferrers checks that the response is an index of all manifests in the repository whose
// subject is the digest, whether the subject exists or not. With artifactType, it has only
// manifests of that type.
func TestReferrers(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	subject := sh.image(t, nil, "subject")
	absent := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("absent"), Size: 6}
	referrer := func(to ocispec.Descriptor, artifactType, config, note string) registryserver.Image {
		return sh.image(t, func(m *ocispec.Manifest) {
			m.Subject, m.ArtifactType, m.Config.MediaType = &to, artifactType, config
			m.Annotations = map[string]string{"note": note}
		}, note)
	}
	byConfig := referrer(subject.Manifests[0], "", "application/vnd.example.sbom", "one")
	byType := referrer(subject.Manifests[0], "application/vnd.example.signature", ocispec.MediaTypeEmptyJSON, "two")
	toAbsent := referrer(absent, "application/vnd.example.signature", ocispec.MediaTypeEmptyJSON, "three")
	elsewhere := referrer(subject.Manifests[0], "application/vnd.example.signature", ocispec.MediaTypeEmptyJSON, "four")
	indexed := registryserver.Image{Manifests: []ocispec.Descriptor{sh.manifest(t, ocispec.MediaTypeImageIndex, ocispec.Index{
		MediaType: ocispec.MediaTypeImageIndex, Subject: &subject.Manifests[0], ArtifactType: "application/vnd.example.sbom", Annotations: map[string]string{"note": "five"},
	})}}
	s := serve(t, sh, at("app", subject, "v1"), at("app", byConfig), at("app", byType, "sha256-sig"), at("app", toAbsent), at("app", indexed), at("other", elsewhere))

	describe := func(img registryserver.Image, artifactType, note string) ocispec.Descriptor {
		d := img.Manifests[0]
		d.ArtifactType, d.Annotations = artifactType, map[string]string{"note": note}
		return d
	}
	const sbom, signature = "application/vnd.example.sbom", "application/vnd.example.signature"
	of := func(d digest.Digest) string { return "/v2/app/referrers/" + d.String() }
	here := subject.Manifests[0].Digest
	for _, x := range []struct {
		path, filter string
		want         []ocispec.Descriptor
	}{
		{of(here), "", []ocispec.Descriptor{describe(byConfig, sbom, "one"), describe(byType, signature, "two"), describe(indexed, sbom, "five")}},
		{of(here) + "?artifactType=" + sbom, "artifactType", []ocispec.Descriptor{describe(byConfig, sbom, "one"), describe(indexed, sbom, "five")}},
		{of(here) + "?artifactType=none", "artifactType", nil},
		{of(absent.Digest), "", []ocispec.Descriptor{describe(toAbsent, signature, "three")}},
		{of(digest.FromString("hello world")), "", nil},
		{"/v2/other/referrers/" + here.String(), "", []ocispec.Descriptor{describe(elsewhere, signature, "four")}},
		{"/v2/nobody/knows/referrers/" + here.String(), "", nil}, // a registry with this API never responds with 404
	} {
		a := s.ask(t, "GET", x.path).want(t, http.StatusOK, "", "Content-Type", ocispec.MediaTypeImageIndex, "OCI-Filters-Applied", x.filter)
		var got ocispec.Index
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.SchemaVersion != 2 || got.MediaType != ocispec.MediaTypeImageIndex || got.Manifests == nil {
			t.Errorf("%s: %s, %v", x.path, a.body, err)
		}
		byNote := func(list []ocispec.Descriptor) map[string]ocispec.Descriptor {
			m := map[string]ocispec.Descriptor{}
			for _, d := range list {
				m[d.Annotations["note"]] = d
			}
			return m
		}
		if diff := cmp.Diff(byNote(x.want), byNote(got.Manifests)); diff != "" || len(got.Manifests) != len(x.want) {
			t.Errorf("%s (-want +got):\n%s", x.path, diff)
		}
	}
	everyMethod(t, s, both, "/v2/app/referrers/v1", func(a answer) { a.want(t, http.StatusBadRequest, "DIGEST_INVALID") })
	s.reads()
	s.ask(t, "GET", of(here))
	if reads := s.reads(); reads != nil {
		t.Errorf("asked again, it read %v", reads)
	}
}
