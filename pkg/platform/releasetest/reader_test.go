package releasetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// contents is the content that a platform pushes to registries, by reference.
type contents struct {
	types map[digest.Digest]string
	blobs map[string][]byte // by "repository@digest"
}

func contentsOf(t *testing.T, w *Platform) contents {
	t.Helper()
	c := contents{types: map[digest.Digest]string{}, blobs: map[string][]byte{}}
	put := func(repository string, h v1.Hash, text []byte, err error) {
		t.Helper()
		fail.On(t, err)
		c.blobs[repository+"@"+h.String()] = text
	}
	manifest := func(repository string, content registrytest.Content) {
		t.Helper()
		h, err := content.Digest()
		fail.On(t, err)
		mt, err := content.MediaType()
		fail.On(t, err)
		raw, err := content.RawManifest()
		put(repository, h, raw, err)
		c.types[digest.Digest(h.String())] = string(mt)
	}
	for _, p := range w.stored {
		repository := "quay.io/" + p.repository
		manifest(repository, p.content)
		all, err := images(p.content)
		fail.On(t, err)
		for _, img := range all {
			manifest(repository, img)
			h, err := img.ConfigName()
			fail.On(t, err)
			raw, err := img.RawConfigFile()
			put(repository, h, raw, err)
			for _, l := range layers(t, img) {
				h, err := l.Digest()
				fail.On(t, err)
				rc, err := l.Compressed()
				fail.On(t, err)
				raw, err := io.ReadAll(rc)
				put(repository, h, raw, err)
			}
		}
	}
	return c
}

func (c contents) Manifest(_ context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	text, err := c.get(source, d)
	return ocispec.Descriptor{MediaType: c.types[d], Digest: d, Size: int64(len(text))}, text, err
}

func (c contents) Blob(_ context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	text, err := c.get(source, desc.Digest)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(text[offset:])), nil
}

func (c contents) get(source string, d digest.Digest) ([]byte, error) {
	repository, _, _ := strings.Cut(source, "@")
	text, ok := c.blobs[repository+"@"+d.String()]
	if !ok {
		return nil, fmt.Errorf("%s of %s: %w", d, source, fs.ErrNotExist)
	}
	return text, nil
}

// TestPayloadsAreRead checks that Gantry's readers find in a payload what the Definition describes.
func TestPayloadsAreRead(t *testing.T) {
	t.Parallel()
	w := small(t)
	src := contentsOf(t, w)
	for _, p := range w.Payloads {
		got, err := payload.Read(t.Context(), src, p.Reference(), p.Digest)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if got.Version != p.Version || got.Arch != p.Arch || got.Digest != p.Digest || got.URL != p.URL || len(got.Children) != len(p.Shards) ||
			!slices.Equal(got.Previous, p.Previous) {
			t.Errorf("%s: %+v", p.Name, got.Release)
		}
		components := map[string]digest.Digest{}
		for _, c := range got.Components {
			for _, name := range c.Names {
				components[name] = c.Digest
			}
		}
		if diff := cmp.Diff(p.Images, components); diff != "" {
			t.Errorf("%s: components (-want +got):\n%s", p.Name, diff)
		}
		disks, err := got.KubeVirt()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		want := map[release.Arch]string{}
		for arch, d := range p.BootImages {
			want[arch] = p.Content + "@" + d.String()
		}
		if len(disks) != len(want) || len(want) > 0 && !cmp.Equal(want, disks) {
			t.Errorf("%s: disks (-want +got):\n%s", p.Name, cmp.Diff(want, disks))
		}
		gates, err := got.Gates(t.Context(), src)
		if err != nil || len(gates) != len(p.Gates) {
			t.Errorf("%s: gates %v, %v, want %v", p.Name, gates, err, p.Gates)
		}
		if p.Sigstore != (len(got.Policies) == 1) {
			t.Errorf("%s: %d policies", p.Name, len(got.Policies))
		}
		trust, err := gpg.Configuration(got.SignatureConfig)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if diff := cmp.Diff([]string{defaultStore}, trust.Stores); diff != "" {
			t.Errorf("%s: stores (-want +got):\n%s", p.Name, diff)
		}
		if err := gpg.VerifyAll([][]byte{w.Signature(p.Digest)}, p.Digest, trust.Keyrings, published.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// TestSigstoreSignaturesAreVerified checks that the signatures of the images satisfy the policy in
// the payload.
func TestSigstoreSignaturesAreVerified(t *testing.T) {
	t.Parallel()
	w := small(t)
	src := contentsOf(t, w)
	p := w.Payload("4.20.2-multi")
	read, err := payload.Read(t.Context(), src, p.Reference(), p.Digest)
	fail.On(t, err)
	policy, err := cosign.ParsePolicy(read.Policies[0])
	fail.On(t, err)
	signed := map[string]registrytest.Content{}
	for _, content := range w.stored {
		signed["quay.io/"+content.repository+":"+content.tag] = content.content
	}
	for name, made := range p.made {
		repository := p.Content
		if name == "" {
			repository = p.Repository
		}
		digests, err := imagesOf(made)
		fail.On(t, err)
		for _, d := range digests {
			sig := signed[repository+":"+SignatureTag(d)]
			if sig == nil {
				t.Errorf("%q: %s has no signature", name, d)
				continue
			}
			manifest, err := sig.RawManifest()
			fail.On(t, err)
			blob := func(_ context.Context, desc ocispec.Descriptor) ([]byte, error) {
				return src.get(repository, desc.Digest)
			}
			if err := cosign.Verify(t.Context(), manifest, blob, repository, d, policy); err != nil || !policy.Covers(repository) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}
