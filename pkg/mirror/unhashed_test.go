package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A proven registry is known to compare uploads with their digest.
type proven struct{ mirror.Registry }

func (proven) VerifiesUploads(context.Context, string) bool { return true }

// A countingArchive counts how blobs are read.
type countingArchive struct {
	*archive.Archive
	hashed, unhashed map[digest.Digest]int
}

func (c *countingArchive) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	c.hashed[desc.Digest]++
	return c.Archive.Blob(ctx, from, desc, offset)
}

func (c *countingArchive) UnhashedBlob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	c.unhashed[desc.Digest]++
	return c.Archive.UnhashedBlob(ctx, from, desc, offset)
}

// A siteRun copies the content of the fault tests from an archive to a registry.
type siteRun struct {
	*faultRun
	from *countingArchive
}

func newSiteRun(t *testing.T, c *faultContent, dir string, registry http.Handler) *siteRun {
	t.Helper()
	r := &siteRun{faultRun: newFaultRun(t, c, archiveToRegistry, dir)}
	r.dest = rt.Serve(t, rt.Options{}, registry)
	var err error
	r.names, err = (mirror.RegistryPath{Host: r.dest.Host}).Repositories(r.plan)
	fail.On(t, err)
	a, err := archive.Open(dir)
	fail.On(t, err)
	t.Cleanup(func() { _ = a.Close() })
	r.from = &countingArchive{a, map[digest.Digest]int{}, map[digest.Digest]int{}}
	return r
}

// run copies one blob after the other.
func (r *siteRun) run(source image.Reader, opts mirror.Options) *mirror.Report {
	r.t.Helper()
	to := r.client(remote.Destination, &skipClock{}, time.Minute)
	defer to.Close()
	opts.Streams = 1
	report, err := mirror.Run(r.t.Context(), r.plan, source, mirror.NewRegistryDestination(to, r.names), opts)
	fail.On(r.t, err)
	return report
}

// uploads returns how often the large blob was sent, at least in part, and how often it was stored.
func (r *siteRun) uploads() (begun, stored int) {
	for _, q := range r.dest.Log() {
		if q.Kind() == "PUT upload" && q.Digest() == r.content.large {
			begun++
			if !q.Faulted && q.Status == http.StatusCreated {
				stored++
			}
		}
	}
	return begun, stored
}

// TestBlobsAreHashedOnce checks which blobs of an archive are hashed before they are sent: all, unless
// the registry proved that it compares them; then only small ones and configs.
func TestBlobsAreHashedOnce(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	disk := content.writeArchive(t)
	for name, tc := range map[string]struct {
		registry http.Handler
		opts     mirror.Options
		overlay  bool
		unhashed bool
		requests int // to complete an upload, in addition to one for each blob
	}{
		"the registry compares":           {rt.Memory(), mirror.WithProof(mirror.Options{}), false, true, 1},
		"the registry compares, overlaid": {rt.Memory(), mirror.WithProof(mirror.Options{}), true, true, 1},
		"the registry stores anything":    {rt.Careless(), mirror.WithProof(mirror.Options{}), false, false, 1},
		"little is sent":                  {rt.Memory(), mirror.Options{}, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSiteRun(t, content, disk, tc.registry)
			var source image.Reader = r.from
			if tc.overlay {
				source = &mirror.Overlay{Source: r.from, Built: r.from, Has: func(digest.Digest) bool { return false }}
			}
			if report := r.run(source, tc.opts); !report.Complete() {
				t.Fatalf("%+v", report)
			}
			r.checkContent()
			for _, b := range r.plan.Blobs {
				how, other := r.from.hashed, r.from.unhashed
				if tc.unhashed && b.Digest == content.large {
					how, other = other, how
				}
				if how[b.Digest] != 1 || other[b.Digest] != 0 {
					t.Errorf("the blob of %d bytes was read %d times hashed and %d times not", b.Size, r.from.hashed[b.Digest], r.from.unhashed[b.Digest])
				}
			}
			if n := r.dest.Requests()["PUT upload"]; n != len(r.plan.Blobs)+tc.requests {
				t.Errorf("%d uploads for %d blobs", n, len(r.plan.Blobs))
			}
		})
	}
}

// checkContent checks that the registry has all images, with a reader that is not part of Gantry.
func (r *siteRun) checkContent() {
	r.t.Helper()
	for _, img := range r.plan.Images {
		got, err := r.dest.Client().Pull(r.t.Context(), img.Repository, "v1")
		if err != nil || got.Digest != img.Digest {
			r.t.Errorf("%s at the mirror: %v, %v, want %s", img.Repository, got.Digest, err, img.Digest)
		}
	}
}

// spoiled copies an archive and changes a byte in the middle of the large blob. It returns the folder
// and where the blob is: the volume, and its offset.
func (c *faultContent) spoiled(t *testing.T, disk string) (dir, volume string, offset int64) {
	t.Helper()
	dir = t.TempDir()
	fail.On(t, os.CopyFS(dir, os.DirFS(disk)))
	a, err := archive.Open(dir)
	fail.On(t, err)
	for e := range a.Entries() {
		if e.Digest == c.large {
			volume, offset = e.Volume, e.Offset
		}
	}
	fail.On(t, a.Close())
	f, err := os.OpenFile(filepath.Join(dir, volume), os.O_RDWR, 0)
	fail.On(t, err)
	one := make([]byte, 1)
	_, err = f.ReadAt(one, offset+largeSize/2)
	fail.On(t, err)
	one[0] ^= 0x10
	_, err = f.WriteAt(one, offset+largeSize/2)
	fail.On(t, err)
	fail.On(t, f.Close())
	return dir, volume, offset
}

// TestDamagedBlobIsNamed checks that a damaged blob of an archive is found, named with its volume and
// offset, sent at most once, and visible nowhere, whether the registry compares it or not, and
// whatever its response to such a blob is.
func TestDamagedBlobIsNamed(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	disk, volume, offset := content.spoiled(t, content.writeArchive(t))
	put := func(nth int, a rt.Action) []rt.Rule {
		return []rt.Rule{{Method: http.MethodPut, Path: "/blobs/uploads/", Query: content.large.Encoded(), Nth: nth, Action: a}}
	}
	requireEmptyPut := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ContentLength != 0 {
			rt.Status(http.StatusBadRequest)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
	for name, tc := range map[string]struct {
		registry http.Handler
		rules    []rt.Rule
	}{
		"refused":                             {rt.Memory(), nil},
		"the registry stores anything":        {rt.Careless(), nil},
		"refused without a reason":            {rt.Memory(), put(0, rt.Status(http.StatusBadRequest))},
		"refused as forbidden":                {rt.Memory(), put(0, rt.Status(http.StatusForbidden))},
		"refused as too large":                {rt.Memory(), put(0, rt.Status(http.StatusRequestEntityTooLarge))},
		"a request with a body is refused":    {rt.Memory(), put(0, requireEmptyPut)},
		"an internal error":                   {rt.Memory(), put(0, rt.Status(http.StatusInternalServerError))},
		"too many requests":                   {rt.Memory(), put(1, rt.Status(http.StatusTooManyRequests, "Retry-After", "1"))},
		"the connection breaks":               {rt.Memory(), put(0, rt.Reset())},
		"the connection breaks in the middle": {rt.Memory(), put(1, rt.CutUpload(largeSize/4))},
		"the response is lost":                {rt.Memory(), put(1, rt.LoseResponse())},
		"confirmed under another digest":      {rt.Memory(), put(0, rt.Header("Docker-Content-Digest", otherDigest))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSiteRun(t, content, disk, tc.registry)
			r.dest.Script(tc.rules...)
			report := r.run(r.from, mirror.WithProof(mirror.Options{}))
			r.dest.Script()
			var failed []string
			for _, f := range report.Failed {
				failed = append(failed, f.Repository)
				var damage *archive.DamageError
				if !errors.As(f.Err, &damage) {
					t.Fatalf("%s failed with %v", f.Repository, f.Err)
				}
				if at := damage.Damage[0]; len(damage.Damage) != 1 || at.File != volume || at.Offset != offset || !strings.Contains(at.Problem, "its digest is sha256:") {
					t.Errorf("the damage is %v, want %s at offset %d", damage, volume, offset)
				}
				if words := "reading the content to upload: the archive in " + disk + " is damaged"; !strings.Contains(f.Reason, words) {
					t.Errorf("the reason does not contain %q: %s", words, f.Reason)
				}
			}
			if slices.Sort(failed); !slices.Equal(failed, []string{"org/large", "org/twin"}) {
				t.Errorf("%v failed", failed)
			}
			if begun, stored := r.uploads(); begun != 1 || stored > 0 {
				t.Errorf("the damaged blob was sent %d times and stored %d times", begun, stored)
			}
			for _, repository := range failed {
				if tags, err := r.dest.Client().Pull(t.Context(), repository, "v1"); err == nil {
					t.Errorf("%s is at the mirror: %v", repository, tags.Digest)
				}
			}
		})
	}
}

// TestIntactBlobIsSentAgain checks that an upload that broke off continues after the blob was hashed,
// and that this happens once.
func TestIntactBlobIsSentAgain(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	r := newSiteRun(t, content, content.writeArchive(t), rt.Memory())
	var rules []rt.Rule
	for n := range 3 {
		rules = append(rules, rt.Rule{
			Method: http.MethodPut, Path: "/blobs/uploads/", Query: content.large.Encoded(), Nth: n + 1, Action: rt.CutUpload(largeSize / 2),
		})
	}
	r.dest.Script(rules...)
	if report := r.run(r.from, mirror.WithProof(mirror.Options{})); !report.Complete() {
		t.Fatalf("%+v", report)
	}
	if n, all := r.from.hashed[content.large], r.from.unhashed[content.large]; n != 1 || all != 4 {
		t.Errorf("the blob was hashed %d times, and opened %d times to be sent", n, all)
	}
	r.dest.Script()
	r.checkContent()
}

// TestRefusalOfIntactBlob checks that the error of a registry that refuses an intact blob is its own.
func TestRefusalOfIntactBlob(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	r := newSiteRun(t, content, content.writeArchive(t), rt.Memory())
	r.dest.Script(rt.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Query: content.large.Encoded(), Action: rt.Refuse(http.StatusBadRequest, "DIGEST_INVALID")})
	report := r.run(r.from, mirror.WithProof(mirror.Options{}))
	var damage *archive.DamageError
	if len(report.Failed) != 2 || errors.As(report.Failed[0].Err, &damage) || !strings.Contains(report.Failed[0].Reason, "DIGEST_INVALID") {
		t.Errorf("%+v", report.Failed)
	}
	if n := r.from.hashed[content.large]; n == 0 {
		t.Error("the blob was not hashed after it was refused")
	}
}

// TestDamagedBlobOfARegistry checks that a blob that a source registry has damaged is sent once, refused by the mirror,
// which compares it, and named as damage of the source.
func TestDamagedBlobOfARegistry(t *testing.T) {
	t.Parallel()
	r := newFaultRun(t, newFaultContent(t), registryToRegistry, "")
	r.dest = rt.Serve(t, rt.Options{}, rt.Memory())
	var err error
	r.names, err = (mirror.RegistryPath{Host: r.dest.Host}).Repositories(r.plan)
	fail.On(t, err)
	large, size := r.content.large, int64(0)
	for _, b := range r.plan.Blobs {
		if b.Digest == large {
			size = b.Size
		}
	}
	r.source.Script(rt.Rule{Method: http.MethodGet, Path: "/blobs/" + large.String(), Action: func(w http.ResponseWriter, q *http.Request, _ http.Handler) {
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(make([]byte, size)))
	}})
	report, err := r.copy(&skipClock{}, time.Minute)
	if err != nil || len(report.Failed) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, f := range report.Failed {
		if !errors.Is(f.Err, remote.ErrMismatch) || !strings.Contains(f.Reason, r.source.Host) {
			t.Errorf("%s failed with %v", f.Repository, f.Err)
		}
	}
	refused := 0
	for _, q := range r.dest.Log() {
		if q.Kind() == "PUT upload" && q.Digest() == large && q.Status == http.StatusBadRequest {
			refused++
		}
	}
	fail.Diff(t, 1, refused)
}
