package mirroring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// contentByDigest is an image.Reader of content in memory, which counts what is read.
type contentByDigest struct {
	all   map[digest.Digest][]byte
	reads atomic.Int64
}

func (c *contentByDigest) add(v any) ocispec.Descriptor {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) //nolint:forbidigo // of constants in this file
	}
	d := digest.FromBytes(text)
	c.all[d] = text
	return ocispec.Descriptor{Digest: d, Size: int64(len(text))}
}

func (c *contentByDigest) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	c.reads.Add(1)
	text, ok := c.all[d]
	if !ok {
		return ocispec.Descriptor{}, nil, fs.ErrNotExist
	}
	return ocispec.Descriptor{Digest: d, Size: int64(len(text))}, text, nil
}

func (c *contentByDigest) Blob(_ context.Context, _ string, desc ocispec.Descriptor, _ int64) (io.ReadCloser, error) {
	c.reads.Add(1)
	text, ok := c.all[desc.Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// TestErrata reads the labels of images and indexes, each image once, and not of release components.
func TestErrata(t *testing.T) {
	t.Parallel()
	content := &contentByDigest{all: map[digest.Digest][]byte{}}
	p := &plan.Plan{Releases: []plan.Release{{Product: "openshift-release", Version: "4.20.1", Arch: "amd64", URL: "https://access.redhat.com/errata/RHBA-2026:2000"}, {Version: "4.20.2"}}}
	add := func(source string, kind plan.ImageKind, labels map[string]string, index bool) {
		config := content.add(map[string]any{"config": map[string]any{"Labels": labels}})
		config.MediaType = ocispec.MediaTypeImageConfig
		m := content.add(ocispec.Manifest{Config: config, Annotations: map[string]string{"of": source}})
		p.Manifests = append(p.Manifests, plan.Manifest{Digest: m.Digest, MediaType: ocispec.MediaTypeImageManifest, Size: m.Size})
		root := m.Digest
		if index {
			of := content.add(ocispec.Index{Manifests: []ocispec.Descriptor{m}})
			root = of.Digest
			p.Manifests = append(p.Manifests, plan.Manifest{Digest: root, MediaType: ocispec.MediaTypeImageIndex, Size: of.Size, Manifests: []digest.Digest{m.Digest}})
		}
		p.Images = append(p.Images, plan.Image{Source: source, Kind: kind, Digest: root, Repository: "r", Tags: []string{fmt.Sprint(len(p.Images))}})
	}
	build := map[string]string{"com.redhat.component": "app-container", "version": "v1", "release": "2"}
	add("quay.io/b/index:v1", plan.RelatedImage, build, true)
	add("quay.io/a/erratum:v1", plan.AdditionalImage, map[string]string{"url": "https://access.redhat.com/errata/RHSA-2026:1234"}, false)
	add("quay.io/c/plain:v1", plan.BundleImage, nil, false)
	add("quay.io/d/component:v1", plan.ComponentImage, build, false)
	p.Images = append(p.Images, p.Images[0]) // in another repository
	p.Images[4].Repository = "other"
	p.Images = append(p.Images, plan.Image{Source: "quay.io/e/gone:v1", Kind: plan.RelatedImage, Digest: digest.FromString("gone")})

	done := 0
	got, err := planning.ReadErrata(t.Context(), p, content, 1, func() { done++ })
	fail.On(t, err)
	want := &planning.Errata{
		Releases: []planning.ReleaseErratum{{Release: p.Releases[0].Name(), URL: "https://access.redhat.com/errata/RHBA-2026:2000"}},
		Images: []planning.ImageErrata{
			{Image: "quay.io/a/erratum:v1", Digest: p.Images[1].Digest, BuildLabels: image.BuildLabels{URL: "https://access.redhat.com/errata/RHSA-2026:1234", Errata: []string{"RHSA-2026:1234"}}},
			{Image: "quay.io/b/index:v1", Digest: p.Images[0].Digest, BuildLabels: image.BuildLabels{Build: "app-container-v1-2"}},
		},
		Read: 4,
	}
	if d := cmp.Diff(want, got); d != "" || done != 4 || content.reads.Load() != 7 {
		t.Errorf("%d images, %d reads (-want +got)\n%s", done, content.reads.Load(), d)
	}
	var s RunSummary
	s.compare(&plan.Plan{}, p)
	if len(s.Errata) != 1 {
		t.Errorf("the summary has %v", s.Errata)
	}
}
