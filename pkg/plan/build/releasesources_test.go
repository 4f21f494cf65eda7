package build

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// releaseFixture is a ReleaseSource and a registry with platform releases.
type releaseFixture struct {
	*fixture
	*releasetest.Platform
	registry *registrytest.Server
	// signatures, if not nil, replaces the signatures of the Platform.
	signatures func(digest.Digest) ([][]byte, error)
	mu         sync.Mutex
	asked      map[string]int // channels, by "channel arch"
}

func newReleaseFixture(t testing.TB, u releasetest.Definition) *releaseFixture {
	t.Helper()
	made, err := releasetest.New(u)
	fail.On(t, err)
	s := registrytest.New(t, registrytest.Options{})
	fail.On(t, made.Push(t.Context(), s.Client(), s.Host))
	s.ResetLog()
	return &releaseFixture{fixture: newFixture(t), Platform: made, registry: s, asked: map[string]int{}}
}

func (w *releaseFixture) sources() Sources {
	return Sources{Images: w, Files: w.fixture, Store: w.fixture, Releases: w}
}

// Graph implements ReleaseSource.
func (w *releaseFixture) Graph(_ context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error) {
	w.mu.Lock()
	w.asked[channel+" "+string(arch)]++
	w.mu.Unlock()
	text, err := w.Platform.Graph(channel, arch)
	if err != nil {
		return nil, plan.UpdateGraph{}, err
	}
	g, err := graph.Read(bytes.NewReader(text))
	if err == nil && len(g.Nodes) == 0 {
		err = fmt.Errorf("channel %s has no releases for %s", channel, arch)
	}
	return g, plan.UpdateGraph{URL: fmt.Sprintf("https://updates.example.com/%s?arch=%s&channel=%s", product, arch, channel), SHA256: digest.FromBytes(text)}, err
}

// GraphData implements ReleaseSource.
func (w *releaseFixture) GraphData(context.Context) (string, []byte, error) {
	return "https://updates.example.com/graph-data", w.Platform.GraphData(), nil
}

// Signatures implements ReleaseSource.
func (w *releaseFixture) Signatures(_ context.Context, _ release.Product, d digest.Digest) ([][]byte, error) {
	if w.signatures != nil {
		return w.signatures(d)
	}
	body := w.Signature(d)
	if body == nil {
		return nil, fmt.Errorf("%s: %w", d, release.ErrUnsigned)
	}
	return [][]byte{body}, nil
}

// Manifest implements image.Reader. Built images are in the fixture, all others in the registry.
func (w *releaseFixture) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if desc, raw, ok := w.own(d); ok {
		return desc, raw, nil
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	if d == "" && ref.Digest == "" && ref.Tag == "" {
		return ocispec.Descriptor{}, nil, fmt.Errorf("%s names nothing", source)
	}
	name := d.String()
	if d == "" {
		name = ref.Identifier()
	}
	body, mediaType, err := w.get(ctx, ref, "manifests/"+name)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}, raw, err
}

// Blob implements image.Reader.
func (w *releaseFixture) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if _, raw, ok := w.own(desc.Digest); ok {
		return io.NopCloser(bytes.NewReader(raw[offset:])), nil
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return nil, err
	}
	body, _, err := w.get(ctx, ref, "blobs/"+desc.Digest.String())
	return body, err
}

func (w *releaseFixture) own(d digest.Digest) (ocispec.Descriptor, []byte, bool) {
	w.fixture.mu.Lock()
	defer w.fixture.mu.Unlock()
	raw, ok := w.blobs[d]
	return ocispec.Descriptor{MediaType: w.types[d], Digest: d, Size: int64(len(raw))}, raw, ok
}

func (w *releaseFixture) get(ctx context.Context, ref reference.Reference, what string) (io.ReadCloser, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.registry.URL()+"/v2/"+ref.Name()+"/"+what, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		err = fmt.Errorf("%s of %s: %s", what, ref, resp.Status)
		if resp.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
		}
		return nil, "", err
	}
	return resp.Body, resp.Header.Get("Content-Type"), nil
}

// platform makes the plan of a mirror.platform stanza.
func (w *releaseFixture) platform(stanza string, opts ...Options) *plan.Plan {
	w.t.Helper()
	p, err := w.make("  platform:\n"+stanza, opts...)
	fail.On(w.t, err)
	return p
}

// make makes the plan of a mirror stanza.
func (w *releaseFixture) make(text string, opts ...Options) (*plan.Plan, error) {
	return Plan(w.t.Context(), parseConfig(w.t, text), "imageset", w.sources(), append(opts, Options{})[0])
}

// releaseNames returns the names of the plan's releases.
func releaseNames(p *plan.Plan) string {
	all := elements.Map(p.Releases, func(r plan.Release) string { return r.Name() })
	return strings.Join(all, " ")
}

// tagsOf returns the tags of the images of a kind, by digest.
func tagsOf(p *plan.Plan, kind plan.ImageKind) map[digest.Digest][]string {
	tags := map[digest.Digest][]string{}
	for _, img := range p.Images {
		if img.Kind == kind {
			tags[img.Digest] = append(tags[img.Digest], img.Tags...)
		}
	}
	return tags
}
