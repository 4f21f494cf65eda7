package mirror_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// largeSize is the size of the large layer in bytes. It is more than the client
// discards when a connection breaks, so that a download continues by Range.
const largeSize = 5 << 19

// faultContent is what every fault test copies: two images that share the large layer,
// and an index of two small images. All registries of the tests share it; it does not
// change.
type faultContent struct {
	registry http.Handler // serves the content
	plan     plan.Plan    // image sources have the host "source.test"
	large    digest.Digest
	content  []ocispec.Descriptor // every manifest and blob
}

func newFaultContent(t *testing.T) *faultContent {
	t.Helper()
	c := &faultContent{registry: rt.Memory(), plan: plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "faults"}}
	client := rt.Serve(t, rt.Options{}, c.registry).Client()
	add := func(name string, content rt.Content, err error) {
		t.Helper()
		fail.On(t, err)
		_, err = client.Push(t.Context(), "org/"+name, "v1", content)
		fail.On(t, err)
		c.plan.Images = append(c.plan.Images, plan.Image{
			Source: "source.test/org/" + name + ":v1", Kind: plan.AdditionalImage, Digest: c.add(t, content),
			Repository: "org/" + name, Tags: []string{"v1"},
		})
	}
	large, err := rt.SizedImage("large", largeSize, 40_000)
	add("large", large, err)
	twin, err := rt.SizedImage("large", largeSize)
	add("twin", twin, err)
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		var img v1.Image
		img, err = rt.SizedImage("multi "+arch, 20_000)
		fail.On(t, err)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	add("multi", index, nil)
	for _, b := range c.plan.Blobs {
		if b.Size >= largeSize {
			c.large = b.Digest
		}
	}
	return c
}

// add adds an image or index with its manifests and blobs to the plan.
func (c *faultContent) add(t *testing.T, content rt.Content) digest.Digest {
	t.Helper()
	must := func(err error) {
		t.Helper()
		fail.On(t, err)
	}
	hash, err := content.Digest()
	must(err)
	raw, err := content.RawManifest()
	must(err)
	mediaType, err := content.MediaType()
	must(err)
	m := plan.Manifest{Digest: digest.Digest(hash.String()), MediaType: string(mediaType), Size: int64(len(raw))}
	switch content := content.(type) {
	case v1.ImageIndex:
		list, err := content.IndexManifest()
		must(err)
		for _, child := range list.Manifests {
			img, err := content.Image(child.Digest)
			must(err)
			m.Manifests = append(m.Manifests, c.add(t, img))
		}
	case v1.Image:
		manifest, err := content.Manifest()
		must(err)
		for _, desc := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
			d := digest.Digest(desc.Digest.String())
			m.Blobs = append(m.Blobs, d)
			if !slices.ContainsFunc(c.plan.Blobs, func(b plan.Blob) bool { return b.Digest == d }) {
				c.plan.Blobs = append(c.plan.Blobs, plan.Blob{Digest: d, Size: desc.Size})
				c.content = append(c.content, ocispec.Descriptor{MediaType: "application/octet-stream", Digest: d, Size: desc.Size})
			}
		}
	}
	c.plan.Manifests = append(c.plan.Manifests, m)
	c.content = append(c.content, ocispec.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: m.Size})
	return m.Digest
}

// planFrom returns the plan of the content with its images at a registry.
func (c *faultContent) planFrom(host string) *plan.Plan {
	p := c.plan
	p.Images = slices.Clone(p.Images)
	for i := range p.Images {
		p.Images[i].Source = strings.Replace(p.Images[i].Source, "source.test", host, 1)
	}
	return &p
}

// writeArchive writes the content to an archive and returns its folder.
func (c *faultContent) writeArchive(t *testing.T) string {
	t.Helper()
	r := newFaultRun(t, c, registryToArchive, "")
	if report, err := r.copy(&skipClock{}, time.Minute); err != nil || len(report.Failed) > 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	return r.dir
}

// The kinds of source and destination of a copy.
const (
	registryToRegistry = "registry to registry"
	registryToArchive  = "registry to archive"
	archiveToRegistry  = "archive to registry"
)

// A faultRun copies the content between its own registries, or from or to an archive. Further
// copies continue the first one.
type faultRun struct {
	t            *testing.T
	content      *faultContent
	direction    string
	source, dest *rt.Server
	plan         *plan.Plan
	names        map[string]reference.Reference
	dir          string // the archive to read or write
	journal      *memoryJournal
	repeats      bool // a slow response may be taken for a stall, and its request repeated
}

// newFaultRun starts the registries; dir is the archive to read, if any.
func newFaultRun(t *testing.T, c *faultContent, direction, dir string) *faultRun {
	t.Helper()
	r := &faultRun{
		t: t, content: c, direction: direction, dir: dir, journal: &memoryJournal{has: map[string]bool{}},
		source: rt.Serve(t, rt.Options{}, c.registry), dest: rt.New(t, rt.Options{}),
	}
	if direction == registryToArchive {
		r.dir = t.TempDir()
	}
	r.plan = c.planFrom(r.source.Host)
	var err error
	r.names, err = (mirror.RegistryPath{Host: r.dest.Host, Prefix: "site"}).Repositories(r.plan)
	fail.On(t, err)
	return r
}

// copy copies the content once.
func (r *faultRun) copy(clock remote.Clock, idle time.Duration) (report *mirror.Report, err error) {
	r.t.Helper()
	from, to := r.client(remote.Source, clock, idle), r.client(remote.Destination, clock, idle)
	defer from.Close()
	defer to.Close()
	opts := mirror.Options{Journal: r.journal}
	switch r.direction {
	case registryToArchive:
		return r.copyToArchive(from)
	case archiveToRegistry:
		a, err := archive.Open(r.dir)
		if err != nil {
			return nil, err
		}
		defer a.Close()
		return mirror.Run(r.t.Context(), r.plan, a, proven{mirror.NewRegistryDestination(to, r.names)}, mirror.WithProof(opts))
	default:
		return mirror.Run(r.t.Context(), r.plan, origin(r.t, from), proven{mirror.NewRegistryDestination(to, r.names)}, mirror.WithProof(opts))
	}
}

// client returns a client of one side.
func (r *faultRun) client(side remote.Side, clock remote.Clock, idle time.Duration) *remote.Client {
	r.t.Helper()
	c, err := remote.New(remote.Options{
		Side: side, Clock: clock, Timeouts: remote.Timeouts{IdleTimeout: idle}, PlainHTTP: true, CertDirs: []string{}, Proxy: http.ProxyURL(nil),
	})
	fail.On(r.t, err)
	return c
}

// copyToArchive copies the content to the archive and finishes the archive if every image arrived.
func (r *faultRun) copyToArchive(from *remote.Client) (report *mirror.Report, err error) {
	w, err := archive.Create(r.t.Context(), r.dir, archive.Content{
		Plan: func(io.Writer) error { return nil }, Entries: slices.Values(r.content.content),
	}, archive.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	report, err = mirror.Run(r.t.Context(), r.plan, origin(r.t, from), w, mirror.Options{})
	if err == nil && len(report.Failed) == 0 {
		err = w.Finish(r.t.Context())
	}
	return report, err
}

// completed returns the blobs that were completed since the logs were cleared, as
// "repository@digest": uploaded, mounted, or for an archive, read completely.
func (r *faultRun) completed() map[string]bool {
	all := map[string]bool{}
	if r.direction == registryToArchive {
		for _, q := range r.source.Log() {
			if q.Kind() == "GET blob" && q.Whole && !q.Faulted && q.Status < http.StatusMultipleChoices {
				all[q.Digest().String()] = true
			}
		}
		return all
	}
	for _, q := range r.dest.Log() {
		if !q.Faulted && q.Status == http.StatusCreated && (q.Kind() == "PUT upload" || q.Kind() == "POST mount") {
			name := q.Repository() + "@" + q.Digest().String()
			if all[name] && !r.repeats {
				r.t.Errorf("%s was copied twice in one run", name)
			}
			all[name] = true
		}
	}
	return all
}

// checkComplete checks that the destination has all content, with a reader that is not part of
// Gantry.
func (r *faultRun) checkComplete() {
	r.t.Helper()
	if r.direction == registryToArchive {
		a, err := archive.Open(r.dir)
		fail.On(r.t, err)
		defer a.Close()
		for _, desc := range r.content.content {
			body, err := a.Blob(r.t.Context(), "", desc, 0)
			if err == nil {
				_, err = io.Copy(io.Discard, body)
				err = errors.Join(err, body.Close())
			}
			if err != nil {
				r.t.Errorf("the archive: %v", err)
			}
		}
		return
	}
	for _, img := range r.plan.Images {
		got, err := r.dest.Client().Pull(r.t.Context(), "site/"+img.Repository, "v1")
		if err != nil || got.Digest != img.Digest {
			r.t.Errorf("%s at the mirror: %v, %v, want %s", img.Repository, got.Digest, err, img.Digest)
		}
	}
}

// A memoryJournal is a mirror.Journal in memory.
type memoryJournal struct {
	mu  sync.Mutex
	has map[string]bool
}

func (j *memoryJournal) Has(repository string, d digest.Digest) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.has[repository+"@"+d.String()]
}

func (j *memoryJournal) Add(repository string, d digest.Digest) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.has[repository+"@"+d.String()] = true
	return nil
}

// A skipClock skips waits and records the longest one.
type skipClock struct {
	mu      sync.Mutex
	skipped time.Duration
	longest time.Duration
}

func (c *skipClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *skipClock) Wait(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += d
	c.longest = max(c.longest, d)
	return ctx.Err()
}
