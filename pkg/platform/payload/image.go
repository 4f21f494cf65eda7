package payload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// versionLabel is the label of every release image.
const versionLabel = "io.openshift.release"

// dockerConfig is the media type of Docker's image configs.
const dockerConfig = "application/vnd.docker.container.image.v1+json"

// Limits on what an image can make a reader keep in memory.
const (
	maxConfig   = 32 << 20
	maxChildren = 64
)

// A reader reads images of one source.
type reader struct {
	src    image.Reader
	source string
}

// A root is the content of a reference: an image, or an index and one of its images.
type root struct {
	desc     ocispec.Descriptor
	children []ocispec.Descriptor
	image    *releaseImage
	at       int // index of the image among the children
}

// A releaseImage is one release image.
type releaseImage struct {
	architecture, version string
	layers                []layer // lowest first
}

// A layer is one layer, with the digest of its unpacked content.
type layer struct {
	desc   ocispec.Descriptor
	diffID digest.Digest
}

// open reads a manifest, and for an index the first image that exists.
func (r reader) open(ctx context.Context, d digest.Digest) (*root, error) {
	desc, raw, err := r.src.Manifest(ctx, r.source, d)
	if err != nil {
		return nil, err
	}
	if !isIndex(desc, raw) {
		img, err := r.image(ctx, raw)
		return &root{desc: desc, image: img}, err
	}
	var list struct {
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	children := list.Manifests
	if len(children) == 0 || len(children) > maxChildren {
		return nil, fmt.Errorf("%w: the index has %d images, want 1 to %d", ErrNoRelease, len(children), maxChildren)
	}
	for at, child := range children {
		img, err := r.child(ctx, child)
		if err == nil {
			return &root{desc: desc, children: children, image: img, at: at}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of the %d images of the index exists: %w", len(children), fs.ErrNotExist)
}

// child reads an image of an index.
func (r reader) child(ctx context.Context, child ocispec.Descriptor) (_ *releaseImage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading image %s of the index: %w", child.Digest, err)
		}
	}()
	if err := child.Digest.Validate(); err != nil {
		return nil, err
	}
	desc, raw, err := r.src.Manifest(ctx, r.source, child.Digest)
	if err != nil {
		return nil, err
	}
	if isIndex(desc, raw) {
		return nil, fmt.Errorf("%w: an index inside an index", ErrNoRelease)
	}
	return r.image(ctx, raw)
}

func isIndex(desc ocispec.Descriptor, raw []byte) bool {
	if desc.MediaType == "" {
		return manifest.IsIndex(manifest.TypeOf(raw))
	}
	return manifest.IsIndex(desc.MediaType)
}

// image reads the config of a manifest. The label identifies a release image.
func (r reader) image(ctx context.Context, raw []byte) (*releaseImage, error) {
	var m struct {
		Manifests []ocispec.Descriptor `json:"manifests"`
		Config    ocispec.Descriptor   `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	switch {
	case m.Manifests != nil:
		// Readers that use the media type and readers that use the fields would see different
		// images.
		return nil, errors.New("an image manifest that also lists manifests")
	case m.Config.MediaType != dockerConfig && m.Config.MediaType != ocispec.MediaTypeImageConfig:
		return nil, fmt.Errorf("%w: an artifact with a config of type %.200q", ErrNoRelease, m.Config.MediaType)
	}
	var config struct {
		Architecture string `json:"architecture"`
		Config       struct {
			Labels map[string]string `json:"Labels"`
		} `json:"config"`
		RootFS struct {
			DiffIDs []digest.Digest `json:"diff_ids"`
		} `json:"rootfs"`
	}
	text, err := r.blob(ctx, m.Config)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return nil, fmt.Errorf("reading config %s: %w", m.Config.Digest, err)
	}
	img := &releaseImage{architecture: config.Architecture, version: config.Config.Labels[versionLabel]}
	if img.version == "" {
		return nil, fmt.Errorf("%w: label %s is missing", ErrNoRelease, versionLabel)
	}
	if len(config.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("config %s has %d diff IDs for the %d layers of the manifest", m.Config.Digest, len(config.RootFS.DiffIDs), len(m.Layers))
	}
	for n, desc := range m.Layers {
		img.layers = append(img.layers, layer{desc, config.RootFS.DiffIDs[n]})
	}
	return img, nil
}

// blob reads a config.
func (r reader) blob(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	b, err := r.src.Blob(ctx, r.source, desc, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	return limited(b, maxConfig)
}

// limited reads all of r. More than limit bytes are an error.
func limited(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	err := fill(&b, r, limit)
	return b.Bytes(), err
}

// fill reads all of r into an empty buffer. More than limit bytes are an error.
func fill(b *bytes.Buffer, r io.Reader, limit int64) error {
	n, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return err
}

// checkChildren compares the other images of an index with the one that was read. Missing images
// are reported when they are copied.
func (r reader) checkChildren(ctx context.Context, root *root) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for n, child := range root.children {
		if n <= root.at { // earlier ones do not exist
			continue
		}
		g.Go(func() error {
			img, err := r.child(ctx, child)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case img.version != root.image.version:
				return fmt.Errorf("the index has images of two releases: %q (%s) and %q (%s)",
					root.image.version, root.children[root.at].Digest, img.version, child.Digest)
			}
			return nil
		})
	}
	return g.Wait()
}

// release combines what is known about a release.
func (r *root) release(metadata []byte) (*Release, error) {
	about, err := parseMetadata(metadata)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading /%s: %w", metadataFile, err)
	case about.Version != r.image.version:
		return nil, fmt.Errorf("the label %s says %q, but /%s says %q", versionLabel, r.image.version, metadataFile, about.Version)
	}
	about.Digest = r.desc.Digest
	if about.Arch, err = r.arch(); err != nil {
		return nil, err
	}
	about.Shard = r.children == nil && about.Metadata[archKey] == string(release.Multi)
	return about, nil
}

// arch returns the architecture by the rule of Cincinnati (release_scrape_dockerv2).
func (r *root) arch() (release.Arch, error) {
	name := r.image.architecture
	switch {
	case len(r.children) > 1:
		return release.Multi, nil
	case len(r.children) == 1 && r.children[0].Platform != nil:
		name = r.children[0].Platform.Architecture
	}
	return release.ParseArch(name)
}
