package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A flippedRegistry is a registry in whose storage one bit of a blob or manifest has another value.
// It answers questions for that content as before.
type flippedRegistry struct {
	mirror.Registry
	flipped ocispec.Descriptor
	// replaces means that content which is pushed replaces what the registry has.
	replaces bool
	pushed   bool
}

func (r *flippedRegistry) read(desc ocispec.Descriptor) error {
	if desc.Digest == r.flipped.Digest && (!r.replaces || !r.pushed) {
		return &remote.Error{Op: "reading", Err: remote.ErrMismatch}
	}
	return nil
}

func (r *flippedRegistry) ReadBlob(_ context.Context, _ string, desc ocispec.Descriptor) error {
	return r.read(desc)
}

func (r *flippedRegistry) ReadManifest(_ context.Context, _ string, desc ocispec.Descriptor) error {
	return r.read(desc)
}

func (r *flippedRegistry) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open mirror.Open) error {
	r.pushed = r.pushed || desc.Digest == r.flipped.Digest
	return r.Registry.PutBlob(ctx, repository, desc, open)
}

func (r *flippedRegistry) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	r.pushed = r.pushed || desc.Digest == r.flipped.Digest
	return r.Registry.PutManifest(ctx, repository, desc, raw, tags)
}

// TestReadBlobs flips a bit of each blob and manifest at a registry: Verify finds it with ReadBlobs
// only, and Run replaces it or fails.
func TestReadBlobs(t *testing.T) {
	c := newContent(t)
	layout := places["layout"](t, c)
	for _, raw := range [][]byte{c.config, c.layer} {
		fail.On(t, layout.sink.PutBlob(t.Context(), repository, describe("application/octet-stream", raw), opens(raw)))
	}
	fail.On(t, layout.sink.PutManifest(t.Context(), repository, describe(ocispec.MediaTypeImageManifest, c.manifest), c.manifest, []string{"v1"}))
	source, from := layout.source()
	root := describe(ocispec.MediaTypeImageManifest, c.manifest)
	p := &plan.Plan{
		Kind: plan.Kind, Version: plan.Version,
		Images:    []plan.Image{{Source: from, Kind: plan.AdditionalImage, Digest: root.Digest, Repository: repository, Tags: []string{"v1"}}},
		Manifests: []plan.Manifest{{Digest: root.Digest, MediaType: root.MediaType, Size: root.Size}},
	}
	for _, raw := range [][]byte{c.config, c.layer} {
		b := describe("", raw)
		p.Manifests[0].Blobs = append(p.Manifests[0].Blobs, b.Digest)
		p.Blobs = append(p.Blobs, plan.Blob{Digest: b.Digest, Size: b.Size})
	}
	registry := places["registry"](t, c).sink.(mirror.Registry)
	if report, err := mirror.Run(t.Context(), p, source, registry, mirror.Options{}); err != nil || !report.Complete() {
		t.Fatal(report, err)
	}
	if missing, err := mirror.Verify(t.Context(), p, registry, mirror.Options{ReadBlobs: true}); err != nil || len(missing) > 0 {
		t.Errorf("nothing is flipped: %+v, %v", missing, err)
	}
	for name, flipped := range map[string]ocispec.Descriptor{"manifest": root, "config": describe("", c.config), "layer": describe("", c.layer)} {
		bad := &flippedRegistry{Registry: registry, flipped: flipped}
		if missing, err := mirror.Verify(t.Context(), p, bad, mirror.Options{CheckBlobs: true}); err != nil || len(missing) > 0 {
			t.Errorf("%s: nothing was read, %+v, %v", name, missing, err)
		}
		missing, err := mirror.Verify(t.Context(), p, bad, mirror.Options{ReadBlobs: true})
		if err != nil || len(missing) != 1 || !strings.Contains(missing[0].Problem, flipped.Digest.String()+" is damaged") {
			t.Errorf("%s: %+v, %v", name, missing, err)
		}
		report, err := mirror.Run(t.Context(), p, source, bad, mirror.Options{ReadBlobs: true})
		if err != nil || !bad.pushed || len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Reason, flipped.Digest.String()+" and kept its own copy") {
			t.Errorf("%s, kept: %+v, %v", name, report, err)
		}
		bad.pushed, bad.replaces = false, true
		report, err = mirror.Run(t.Context(), p, source, bad, mirror.Options{ReadBlobs: true})
		if err != nil || !bad.pushed || !report.Complete() || report.UpToDate() {
			t.Errorf("%s, replaced: %+v, %v", name, report, err)
		}
		// A repair replaces only what is damaged.
		bad.pushed = false
		found := 0
		report, err = mirror.Run(t.Context(), p, source, bad, mirror.Options{ReadBlobs: true, Repair: true, Found: func(all []mirror.MissingImage) { found = len(all) }})
		if err != nil || !bad.pushed || !report.Complete() || found != 1 || report.Manifests+report.BlobsCopied != 1 {
			t.Errorf("%s, repaired: found %d, %+v, %v", name, found, report, err)
		}
	}
}

// TestReadContentOfRegistry reads content of a registry that is there and content that is not.
func TestReadContentOfRegistry(t *testing.T) {
	c := newContent(t)
	p := places["registry"](t, c)
	r := p.sink.(interface {
		ReadBlob(ctx context.Context, repository string, desc ocispec.Descriptor) error
		ReadManifest(ctx context.Context, repository string, desc ocispec.Descriptor) error
	})
	layer := describe("", c.layer)
	if err := r.ReadBlob(t.Context(), repository, layer); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("an absent blob: %v", err)
	}
	if err := r.ReadManifest(t.Context(), repository, describe("", bytes.Repeat([]byte("x"), 9))); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("an absent manifest: %v", err)
	}
	fail.On(t, p.sink.PutBlob(t.Context(), repository, layer, opens(c.layer)))
	fail.On(t, r.ReadBlob(t.Context(), repository, layer))
	layer.Size--
	if err := r.ReadBlob(t.Context(), repository, layer); !errors.Is(err, remote.ErrMismatch) {
		t.Errorf("a blob of another length: %v", err)
	}
}
