package registryserver_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
)

// noise returns n random bytes, in which a wrong offset shows.
func noise(n int) string {
	raw := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(raw) // never fails
	return string(raw)
}

// largeLayer returns a registry with one large layer, which is read in several pieces.
func largeLayer(t *testing.T) (s *site, text, path string, d digest.Digest) {
	t.Helper()
	sh := newMemorySource()
	text = noise(700_001)
	s = serve(t, sh, at("app", sh.image(t, nil, text), "v1"))
	d = digest.FromString(text)
	return s, text, "/v2/app/blobs/" + d.String(), d
}

// TestRanges checks requests for parts of a blob, and that reading starts at the beginning of the
// part.
func TestRanges(t *testing.T) {
	t.Parallel()
	s, text, path, d := largeLayer(t)
	size := len(text)
	for ask, want := range map[string][2]int{ // from, to
		"bytes=0-0":      {0, 1},
		"bytes=0-":       {0, size},
		"bytes=1-9":      {1, 10},
		"bytes=300000-":  {300_000, size},
		"bytes=-5":       {size - 5, size},
		"bytes=-9999999": {0, size},
		"bytes=700000-":  {size - 1, size},
		fmt.Sprintf("bytes=%d-%d", size-1, int64(1)<<62): {size - 1, size},
		"bytes=5-9223372036854775807":                    {5, size},
		"bytes=262143-262145":                            {262_143, 262_146},
	} {
		s.reads()
		a := s.ask(t, "GET", path, "Range", ask).want(t, http.StatusPartialContent, "",
			"Content-Range", fmt.Sprintf("bytes %d-%d/%d", want[0], want[1]-1, size), "Content-Length", fmt.Sprint(want[1]-want[0]),
			"Docker-Content-Digest", d.String(), "Content-Type", "application/octet-stream")
		if a.err != nil || a.body != text[want[0]:want[1]] {
			t.Errorf("%s: %d bytes, not the requested ones (%v)", ask, len(a.body), a.err)
		}
		fail.Diff(t, []string{fmt.Sprintf("%s@%d", d, want[0])}, s.reads())
	}
	for _, ask := range []string{"bytes=700001-", "bytes=700002-800000", "bytes=9223372036854775807-", "bytes=abc", "bytes=5-4", "bytes=-", "bytes=99999999999999999999-", "bytes=0--1", "items=0-1"} {
		s.reads()
		s.ask(t, "GET", path, "Range", ask).want(t, http.StatusRequestedRangeNotSatisfiable, "RANGE_INVALID", "Etag", "", "Docker-Content-Digest", "")
		if reads := s.reads(); reads != nil {
			t.Errorf("%s: it read %v", ask, reads)
		}
	}
	s.ask(t, "GET", path, "Range", "bytes=700001-").want(t, http.StatusRequestedRangeNotSatisfiable, "RANGE_INVALID", "Content-Range", "bytes */700001")
	// A request for several ranges, however many, gets the whole blob. HEAD ignores ranges.
	for _, ask := range []string{"bytes=0-1,5-6", "bytes=" + strings.Repeat("0-0,", 5000) + "1-1"} {
		if a := s.ask(t, "GET", path, "Range", ask).want(t, http.StatusOK, "", "Content-Range", ""); a.body != text {
			t.Errorf("%.20s: %d bytes", ask, len(a.body))
		}
	}
	s.ask(t, "HEAD", path, "Range", "bytes=1-2").want(t, http.StatusOK, "", "Content-Length", fmt.Sprint(size), "Content-Range", "")
}

// TestConditions checks that content that the client has is not sent again, and that a download
// only continues with the same content.
func TestConditions(t *testing.T) {
	t.Parallel()
	s, text, path, d := largeLayer(t)
	tag := `"` + d.String() + `"`
	for _, x := range []struct {
		header []string
		status int
		length int
	}{
		{[]string{"If-None-Match", tag}, http.StatusNotModified, 0},
		{[]string{"If-None-Match", `"other"`}, http.StatusOK, len(text)},
		{[]string{"If-None-Match", "*"}, http.StatusNotModified, 0},
		{[]string{"If-Match", tag}, http.StatusOK, len(text)},
		{[]string{"If-Match", `"other"`}, http.StatusPreconditionFailed, 0},
		{[]string{"If-Range", tag, "Range", "bytes=10-"}, http.StatusPartialContent, len(text) - 10},
		{[]string{"If-Range", `"other"`, "Range", "bytes=10-"}, http.StatusOK, len(text)},
		{[]string{"If-Range", "W/" + tag, "Range", "bytes=10-"}, http.StatusOK, len(text)},
		{[]string{"If-Range", "Sun, 22 Nov 2026 05:00:00 GMT", "Range", "bytes=10-"}, http.StatusOK, len(text)},
	} {
		if a := s.ask(t, "GET", path, x.header...).want(t, x.status, ""); len(a.body) != x.length {
			t.Errorf("%q: %d bytes, want %d", x.header, len(a.body), x.length)
		}
	}
	manifest := s.ask(t, "GET", "/v2/app/manifests/v1")
	s.ask(t, "GET", "/v2/app/manifests/v1", "If-None-Match", manifest.Header.Get("Etag")).want(t, http.StatusNotModified, "")
	part := s.ask(t, "GET", "/v2/app/manifests/v1", "Range", "bytes=3-9").want(t, http.StatusPartialContent, "")
	fail.Diff(t, manifest.body[3:10], part.body)
}

// TestDamage checks that no client takes damaged content for complete: a small blob is refused, the
// end of a large one is not sent, and the log has the reason.
func TestDamage(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	small, large := noise(1000), noise(1_000_000)
	img := sh.image(t, nil, small, large, "")
	s := serve(t, sh, at("app", img, "v1"))
	path := func(text string) string { return "/v2/app/blobs/" + digest.FromString(text).String() }
	if a := s.ask(t, "GET", path("")).want(t, http.StatusOK, "", "Content-Length", "0"); a.err != nil {
		t.Errorf("an empty blob: %v", a.err)
	}
	sh.wrong[digest.FromString(small)], sh.wrong[digest.FromString(large)] = true, true

	s.ask(t, "GET", path(small)).want(t, http.StatusInternalServerError, "UNKNOWN", "Etag", "", "Docker-Content-Digest", "", "Accept-Ranges", "")
	a := s.ask(t, "GET", path(large)).want(t, http.StatusOK, "", "Content-Length", "1000000")
	if a.err == nil || len(a.body) >= 1_000_000 || !strings.HasPrefix(large, a.body) {
		t.Errorf("%d bytes came, with the error %v", len(a.body), a.err)
	}
	// In a range, damage is not found, because only the digest of the whole blob is known.
	s.ask(t, "GET", path(large), "Range", "bytes=5-7").want(t, http.StatusPartialContent, "")
	if n := strings.Count(s.log.String(), errDamaged.Error()); n != 2 {
		t.Errorf("the log has %d damages, want 2:\n%s", n, s.log)
	}

	sh.wrong[img.Manifests[0].Digest] = true
	s.ask(t, "GET", "/v2/app/manifests/v1").want(t, http.StatusInternalServerError, "UNKNOWN")
	// An incomplete list of referrers would look complete.
	s.ask(t, "GET", "/v2/app/referrers/"+digest.FromString("x").String()).want(t, http.StatusInternalServerError, "UNKNOWN")
	sh.wrong[img.Manifests[0].Digest] = false
	s.ask(t, "GET", "/v2/app/referrers/"+digest.FromString("x").String()).want(t, http.StatusOK, "")

	sh.absent[digest.FromString(large)] = true
	s.ask(t, "GET", path(large)).want(t, http.StatusInternalServerError, "UNKNOWN")
	if !strings.Contains(s.log.String(), "file does not exist") {
		t.Errorf("the log does not say what is missing:\n%s", s.log)
	}
}

// short is a source whose blobs do not have the length in their descriptors.
type short struct {
	*memorySource
	by int
}

func (s short) Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := s.memorySource.Blob(ctx, repository, desc, offset)
	if err != nil || s.by == 0 {
		return body, err
	}
	raw, err := io.ReadAll(body)
	if s.by > 0 {
		return io.NopCloser(strings.NewReader(string(raw) + strings.Repeat("x", s.by))), err
	}
	return io.NopCloser(strings.NewReader(string(raw[:len(raw)+s.by]))), err
}

// TestWrongLength checks that no client takes content for complete if the source returns more or
// less of it than expected.
func TestWrongLength(t *testing.T) {
	t.Parallel()
	for _, by := range []int{-1, 1, -700, 1 << 20} {
		sh := newMemorySource()
		text := noise(1000)
		s := serveFrom(t, short{sh, by}, sh, at("app", sh.image(t, nil, text)))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v2/app/blobs/"+digest.FromString(text).String(), http.NoBody)
		fail.On(t, err)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusOK {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		switch {
		case err == nil && resp.StatusCode != http.StatusInternalServerError:
			t.Errorf("with %d bytes more the answer is %s, and whole", by, resp.Status)
		case !strings.Contains(s.log.String(), "stopped early") && !strings.Contains(s.log.String(), "cannot be read"):
			t.Errorf("with %d bytes more the log says %q", by, s.log)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
	}
}

// TestNewRefuses checks that contradictory images are refused.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	one, two := sh.image(t, nil, "one"), sh.image(t, nil, "two")
	larger := one
	larger.Blobs = slices.Clone(one.Blobs)
	larger.Blobs[0].Size++
	other := one
	other.Manifests = slices.Clone(one.Manifests)
	other.Manifests[0].MediaType = ocispec.MediaTypeImageIndex
	for want, images := range map[string][]registryserver.Image{
		"the tag v1 belongs to": {at("app", one, "v1"), at("app", two, "v1")},
		"has the sizes":         {at("app", one), at("app", larger)},
		"has the media types":   {at("app", one), at("lib", other)},
	} {
		_, err := registryserver.New(sh, nil, slices.Values(images))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "repository ") {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	// The same image twice is not a contradiction, nor is a manifest that is also a blob.
	asBlob := two
	asBlob.Blobs = append(slices.Clone(two.Blobs), one.Manifests[0])
	s := serve(t, sh, at("app", one, "v1"), at("app", one, "v1", "v2"), at("app", asBlob))
	s.ask(t, "GET", "/v2/app/manifests/v1").want(t, http.StatusOK, "")
	s.ask(t, "GET", "/v2/app/blobs/"+one.Manifests[0].Digest.String()).want(t, http.StatusOK, "", "Content-Type", "application/octet-stream")
}
