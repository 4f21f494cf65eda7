package payload

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// overHTTP is an image.Reader for registries without authentication or TLS.
type overHTTP struct{}

func (overHTTP) get(ctx context.Context, source, what string, d digest.Digest) (*http.Response, error) {
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	name := d.String()
	if d == "" {
		name = ref.Identifier()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/v2/%s/%s/%s", ref.Host, ref.Path, what, name), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	return resp, nil
}

func (o overHTTP) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	resp, err := o.get(ctx, source, "manifests", d)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return ocispec.Descriptor{MediaType: resp.Header.Get("Content-Type"), Digest: digest.FromBytes(raw), Size: int64(len(raw))}, raw, err
}

func (o overHTTP) Blob(ctx context.Context, source string, desc ocispec.Descriptor, _ int64) (io.ReadCloser, error) {
	resp, err := o.get(ctx, source, "blobs", desc.Digest)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// TestFixture checks real releases, read from a registry.
func TestFixture(t *testing.T) {
	s := registrytest.New(t, registrytest.Options{})
	u := releasetest.Small()
	u.Registry = s.Host
	w, err := releasetest.New(u)
	fail.On(t, err)
	fail.On(t, w.Push(t.Context(), s.Client(), s.Host))
	for _, made := range w.Payloads {
		t.Run(made.Name, func(t *testing.T) {
			p, err := Read(t.Context(), overHTTP{}, made.Repository+":"+made.Name, "")
			fail.On(t, err)
			want := Release{Digest: made.Digest, Version: made.Version, Arch: made.Arch, Previous: made.Previous, Next: made.Next, URL: made.URL}
			fail.Diff(t, want, p.Release, cmpopts.IgnoreFields(Release{}, "Metadata"), cmpopts.EquateEmpty())
			about, err := Metadata(t.Context(), overHTTP{}, made.Repository, made.Digest)
			fail.On(t, err)
			fail.Diff(t, &p.Release, about)

			images := map[string]digest.Digest{}
			for _, c := range p.Components {
				for _, name := range c.Names {
					images[name] = c.Digest
				}
			}
			fail.Diff(t, made.Images, images)
			for _, c := range p.Components {
				if c.Ref != made.Content+"@"+c.Digest.String() {
					t.Errorf("component %s is %s, want it in %s", c.Names, c.Ref, made.Content)
				}
			}
			shards := map[release.Arch]digest.Digest{}
			for _, c := range p.Children {
				shards[release.Arch(c.Platform.Architecture)] = c.Digest
			}
			fail.Diff(t, made.Shards, shards, cmpopts.EquateEmpty())

			disks, err := p.KubeVirt()
			fail.On(t, err)
			wantDisks := map[release.Arch]string{}
			for arch, d := range made.BootImages {
				wantDisks[arch] = made.Content + "@" + d.String()
			}
			fail.Diff(t, wantDisks, disks, cmpopts.EquateEmpty())
			if len(p.SignatureConfig) == 0 || (len(p.Policies) == 1) != made.Sigstore {
				t.Errorf("%d policies, signature configuration %.40q", len(p.Policies), p.SignatureConfig)
			}
			gates, err := p.Gates(t.Context(), overHTTP{})
			fail.On(t, err)
			names := elements.Map(gates, func(g Gate) string { return g.Name })
			fail.Diff(t, slices.Sorted(maps.Keys(made.Gates)), names, cmpopts.EquateEmpty())
		})
	}
}
