package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestReferrersTag(t *testing.T) {
	for d, want := range map[digest.Digest]string{
		digest.FromString("a"):                                    "sha256-" + digest.FromString("a").Encoded(),
		digest.SHA512.FromString("a"):                             "sha512-" + digest.SHA512.FromString("a").Encoded()[:64],
		"test+algorithm+using+algorithm+separators+and+more:AAAA": "test-algorithm-using-algorithm-s-AAAA", // of the specification
	} {
		fail.Diff(t, want, remote.ReferrersTag(d))
	}
}

// listOf returns a list of n referrers.
func listOf(from, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":7,"artifactType":"a/b"}`, ocispec.MediaTypeImageManifest, digest.FromString(fmt.Sprint(from+i))))
	}
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[%s]}`, ocispec.MediaTypeImageIndex, strings.Join(all, ","))
}

// TestReferrers reads lists of registries with and without the referrers API, and of those that answer
// with anything else.
func TestReferrers(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request, next string) {
		w.Header().Set("Link", "<"+r.URL.Path+"?page="+next+`>; rel="next"`)
	}
	for _, tc := range []struct {
		name     string
		answer   func(w http.ResponseWriter, r *http.Request)
		want     int   // referrers
		err      error // or this error
		requests int   // for two calls
	}{
		{name: "none", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(listOf(0, 0))) }, requests: 2},
		{name: "some", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(listOf(0, 3))) }, want: 3, requests: 2},
		{name: "a filter that nobody asked for", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("OCI-Filters-Applied", "artifactType")
			_, _ = w.Write([]byte(listOf(0, 3)))
		}, want: 3, requests: 2},
		{name: "pages", answer: func(w http.ResponseWriter, r *http.Request) {
			page := map[string]int{"": 0, "2": 1, "3": 2}[r.URL.Query().Get("page")]
			if page < 2 {
				endless(w, r, fmt.Sprint(page+2))
			}
			_, _ = w.Write([]byte(listOf(10*page, 2)))
		}, want: 6, requests: 6},
		{name: "pages without end", answer: func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, r.URL.Query().Get("page")+"1")
			_, _ = w.Write([]byte(listOf(0, 100)))
		}, err: errors.New("more than 1000"), requests: 22},
		{name: "the same page again", answer: func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, "")
			_, _ = w.Write([]byte(listOf(0, 1)))
		}, err: errors.New("without end"), requests: 4},
		{name: "too many", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(listOf(0, remote.MaxReferrers+1))) }, err: errors.New("more than 1000"), requests: 2},
		{name: "404", answer: http.NotFound, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "405", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "400", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "no such repository", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errors":[{"code":"NAME_UNKNOWN","message":"no such repository"}]}`))
		}, err: remote.ErrNotFound, requests: 2},
		{name: "a web page", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>welcome</html>")) }, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "an image", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(manifestOf([]byte("{}"))) }, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "wrong digests", answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.ReplaceAll(listOf(0, 1), "sha256:", "sha1:")))
		}, err: remote.ErrNoReferrersAPI, requests: 1},
		{name: "forbidden", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, err: remote.ErrUnauthorized, requests: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			s := startRegistry(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !strings.Contains(r.URL.Path, "/referrers/") {
						next.ServeHTTP(w, r)
						return
					}
					requests++
					tc.answer(w, r)
				})
			})
			c := newClient(t, remote.Options{})
			for range 2 {
				list, err := c.Referrers(t.Context(), repoAt(s, "org/name").WithDigest(digest.FromString("subject")))
				switch {
				case tc.err == nil:
					if err != nil || len(list) != tc.want {
						t.Errorf("%d referrers: %v", len(list), err)
					}
				case err == nil || !errors.Is(err, tc.err) && !strings.Contains(err.Error(), tc.err.Error()):
					t.Errorf("%v, want %v", err, tc.err)
				}
			}
			fail.Diff(t, tc.requests, requests)
		})
	}
}

// referrerOf returns a manifest with a subject.
func referrerOf(t *testing.T, subject digest.Digest, text string) []byte {
	t.Helper()
	raw, err := registrytest.Referrer{
		Subject: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: subject, Size: 1}, ArtifactType: "application/" + text,
		Text: text, Annotations: map[string]string{"text": text},
	}.Manifest()
	fail.On(t, err)
	return raw
}

func hostRef(s *registrytest.Server) reference.Reference {
	return reference.Reference{Host: s.Host, Path: "org/name"}
}

// taggedList returns the list of referrers under its tag.
func taggedList(t *testing.T, c *remote.Client, s *registrytest.Server, subject digest.Digest) []ocispec.Descriptor {
	t.Helper()
	_, raw, err := c.Manifest(t.Context(), hostRef(s).WithTag(remote.ReferrersTag(subject)))
	var list ocispec.Index
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || list.MediaType != ocispec.MediaTypeImageIndex {
		t.Fatalf("%+v: %v", list, err)
	}
	return list.Manifests
}

// withoutReferrers is a registry in memory without the referrers API.
func withoutReferrers(t *testing.T, meddle func(w http.ResponseWriter, r *http.Request, next http.Handler)) *registrytest.Server {
	t.Helper()
	memory := registrytest.Memory()
	return registrytest.Serve(t, registrytest.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/referrers/") {
			http.NotFound(w, r)
			return
		}
		w = &headerFilter{w}
		if meddle != nil {
			meddle(w, r, memory)
			return
		}
		memory.ServeHTTP(w, r)
	}))
}

// headerFilter removes the header that shows the referrers API.
type headerFilter struct{ http.ResponseWriter }

func (f *headerFilter) WriteHeader(status int) {
	f.Header().Del("OCI-Subject")
	f.ResponseWriter.WriteHeader(status)
}

// pushReferrer pushes a referrer with its blobs.
func pushReferrer(t *testing.T, c *remote.Client, s *registrytest.Server, subject digest.Digest, text string) (digest.Digest, error) {
	t.Helper()
	for _, blob := range []string{text, "{}"} {
		if _, err := c.PushBlob(t.Context(), hostRef(s), describe([]byte(blob)), nil, opener([]byte(blob))); err != nil {
			t.Error(err)
		}
	}
	raw := referrerOf(t, subject, text)
	d := digest.FromBytes(raw)
	return d, c.PushManifest(t.Context(), hostRef(s).WithDigest(d), ocispec.MediaTypeImageManifest, raw)
}

// TestListReferrers pushes many referrers of one subject at the same time to a registry without the
// referrers API, which lists all of them and what was listed before.
func TestListReferrers(t *testing.T) {
	t.Parallel()
	s := withoutReferrers(t, nil)
	c := newClient(t, remote.Options{Side: remote.Destination})
	subject := digest.FromString("subject")
	own := registrytest.NewClient(s.Host)
	foreign, err := own.PushReferrer(t.Context(), "org/name", registrytest.Referrer{
		Subject: ocispec.Descriptor{Digest: subject, Size: 1}, ArtifactType: "x/y", Text: "foreign", Annotations: map[string]string{"a": "b"},
	})
	if err == nil {
		err = own.PushReferrersTag(t.Context(), "org/name", subject, foreign)
	}
	fail.On(t, err)
	want := []digest.Digest{foreign.Digest}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			d, err := pushReferrer(t, c, s, subject, fmt.Sprint("text", i))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			want = append(want, d)
			mu.Unlock()
		})
	}
	wg.Wait()
	var got []digest.Digest
	for _, d := range taggedList(t, c, s, subject) {
		got = append(got, d.Digest)
		if d.Digest != foreign.Digest && (d.ArtifactType != "application/"+d.Annotations["text"] || d.Annotations["text"] == "" || d.Size == 0) {
			t.Errorf("an entry is %+v", d)
		}
	}
	fail.Diff(t, foreign, taggedList(t, c, s, subject)[0])
	slices.Sort(want)
	slices.Sort(got)
	fail.Diff(t, want, got)
	list, err := c.ListedReferrers(t.Context(), hostRef(s).WithDigest(subject))
	if err != nil || len(list) != 13 {
		t.Errorf("%d referrers: %v", len(list), err)
	}
	// The same again changes nothing.
	s.ResetLog()
	_, err = pushReferrer(t, c, s, subject, "text1")
	fail.On(t, err)
	fail.Diff(t, 1, s.Requests()["PUT manifest"])
}

// TestListReferrersBesideOthers lets another program replace the list between reading and writing, and
// refuses a tag that is used otherwise.
func TestListReferrersBesideOthers(t *testing.T) {
	t.Parallel()
	subject := digest.FromString("subject")
	tag := "/manifests/" + remote.ReferrersTag(subject)
	lost := 0
	s := withoutReferrers(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, tag) && lost < 2 {
			lost++
			r.Header.Set("Content-Type", ocispec.MediaTypeImageIndex)
			w.WriteHeader(http.StatusCreated) // and another program writes its own list
			return
		}
		next.ServeHTTP(w, r)
	})
	c := newClient(t, remote.Options{Side: remote.Destination})
	d, err := pushReferrer(t, c, s, subject, "text")
	if err != nil || lost != 2 {
		t.Errorf("%d lists were lost: %v", lost, err)
	}
	if list := taggedList(t, c, s, subject); len(list) != 1 || list[0].Digest != d {
		t.Errorf("the list is %+v", list)
	}

	other := digest.FromString("other")
	raw := referrerOf(t, other, "text")
	fail.On(t, c.PushManifest(t.Context(), hostRef(s).WithTag(remote.ReferrersTag(subject)), ocispec.MediaTypeImageManifest, raw))
	if _, err = pushReferrer(t, c, s, subject, "more"); err == nil || !strings.Contains(err.Error(), "is reserved for the referrers of "+subject.String()+", but it names another image") {
		t.Error(err)
	}
	if _, err := c.ListedReferrers(t.Context(), hostRef(s).WithDigest(subject)); err == nil {
		t.Error("the tag of an image was read as a list")
	}
}

// TestListReferrersAfterDeletion checks that a list which names a deleted manifest does not stop others
// from being listed.
func TestListReferrersAfterDeletion(t *testing.T) {
	t.Parallel()
	s := withoutReferrers(t, nil)
	c := newClient(t, remote.Options{Side: remote.Destination})
	subject := digest.FromString("subject")
	var all []digest.Digest
	for _, text := range []string{"first", "second", "third"} {
		d, err := pushReferrer(t, c, s, subject, text)
		fail.On(t, err)
		if all = append(all, d); text != "first" {
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL()+"/v2/org/name/manifests/"+d.String(), nil)
		fail.On(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
	}
	if list := taggedList(t, c, s, subject); len(list) != 2 || list[0].Digest != all[1] || list[1].Digest != all[2] {
		t.Errorf("the list is %+v", list)
	}
}

// TestReferrersAPIAtDestination checks that a registry with the API gets no tag.
func TestReferrersAPIAtDestination(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, registrytest.Options{})
	c := newClient(t, remote.Options{Side: remote.Destination})
	subject := digest.FromString("subject")
	d, err := pushReferrer(t, c, s, subject, "text")
	fail.On(t, err)
	if tags, err := c.Tags(t.Context(), hostRef(s), 0); err == nil && len(tags) > 0 {
		t.Errorf("tags: %v", tags)
	}
	list, err := c.ListedReferrers(t.Context(), hostRef(s).WithDigest(subject))
	if err != nil || len(list) != 1 || list[0].Digest != d {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestReferrersOfMirrors checks that the first mirror that answers decides whether there is a referrers API:
// behind it, nothing may be reachable.
func TestReferrersOfMirrors(t *testing.T) {
	t.Parallel()
	mirror, gone := startRegistry(t, nil), startRegistry(t, nil)
	conf := loadConf(t, fmt.Sprintf("[[registry]]\nprefix = \"quay.example\"\nlocation = %q\n[[registry.mirror]]\nlocation = %q\n", repoAt(gone, "").Host, repoAt(mirror, "").Host))
	gone.Close()
	c := newClient(t, remote.Options{Registries: conf, Clock: newClock()})
	for range 2 {
		_, err := c.Referrers(t.Context(), mustParse(t, "quay.example/org/name").WithDigest(digest.FromString("subject")))
		if !errors.Is(err, remote.ErrNoReferrersAPI) {
			t.Error(err)
		}
	}
}
