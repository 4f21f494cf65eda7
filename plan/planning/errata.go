package planning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// Errata are the errata of a plan.
type Errata struct {
	// Releases are those that name an erratum, in the order of the plan.
	Releases []ReleaseErratum `json:"releases,omitempty"`
	// Images are those whose labels name a build, an address or errata, by source. The components of a release
	// belong to its erratum, and are not read.
	Images []ImageErrata `json:"images,omitempty"`
	// Read is how many images were read for their labels.
	Read int `json:"read"`
}

// A ReleaseErratum is the erratum of a release.
type ReleaseErratum struct {
	Release string `json:"release"`
	URL     string `json:"url"`
}

// ImageErrata are what the labels of an image say: those of its first platform in the plan.
type ImageErrata struct {
	Image  string        `json:"image"`
	Digest digest.Digest `json:"digest"`
	image.BuildLabels
}

// ReleaseErrata returns the errata that the metadata of releases name.
func ReleaseErrata(p *plan.Plan) (all []ReleaseErratum) {
	for _, r := range p.Releases {
		if r.URL != "" {
			all = append(all, ReleaseErratum{Release: r.Name(), URL: r.URL})
		}
	}
	return all
}

// ReadErrata reads the configs of images for their labels, from images, at most jobs at the same time.
func ReadErrata(ctx context.Context, p *plan.Plan, images image.Reader, jobs int, done func()) (*Errata, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	of := labeled(p)
	found := make([]ImageErrata, len(of))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, jobs))
	for i, img := range of {
		g.Go(func() error {
			defer done()
			labels, err := imageLabels(ctx, images, contents, img)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("reading the labels of %s: %w", img.Source, err)
			}
			found[i] = ImageErrata{Image: img.Source, Digest: img.Digest, BuildLabels: image.ReadBuildLabels(labels)}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(e ImageErrata) bool { return e.IsZero() })
	elements.Sort(found, func(a, b ImageErrata) int {
		return cmp.Or(strings.Compare(a.Image, b.Image), strings.Compare(string(a.Digest), string(b.Digest)))
	})
	return &Errata{Releases: ReleaseErrata(p), Images: found, Read: len(of)}, nil
}

// labeled returns the images whose labels are read, each once.
func labeled(p *plan.Plan) (of []*plan.Image) {
	built := map[string]bool{}
	for _, c := range p.Catalogs {
		built[c.Name()] = c.Built
	}
	seen := map[string]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		switch img.Kind {
		case plan.BundleImage, plan.RelatedImage, plan.AdditionalImage, plan.CatalogImage:
		default:
			continue
		}
		if key := trust.JudgedName(img.Source, img.Digest); !seen[key] && !trust.WasBuilt(img, built) {
			seen[key], of = true, append(of, img)
		}
	}
	return of
}

// maxLabeledConfig is the maximum size of a config that is read for its labels, in bytes.
const maxLabeledConfig = 32 << 20

// imageLabels returns the labels of the first platform of an image in a plan; nil if it is not a container image.
func imageLabels(ctx context.Context, images image.Reader, contents *plan.Contents, img *plan.Image) (map[string]string, error) {
	d := img.Digest
	for range plan.MaxDepth {
		m, ok := contents.Manifest(d)
		if !ok || len(m.Manifests) == 0 {
			break
		}
		d = m.Manifests[0]
	}
	_, raw, err := images.Manifest(ctx, img.Source, d)
	if err != nil {
		return nil, err
	}
	var m struct {
		Config *ocispec.Descriptor `json:"config"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Config == nil || m.Config.Digest.Validate() != nil || m.Config.Size < 0 || m.Config.Size > maxLabeledConfig ||
		m.Config.MediaType != ocispec.MediaTypeImageConfig && m.Config.MediaType != manifest.DockerConfig {
		return nil, nil //nolint:nilerr // an artifact has no labels
	}
	r, err := images.Blob(ctx, img.Source, *m.Config, 0)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxLabeledConfig))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	var config struct {
		Config struct {
			Labels map[string]string `json:"Labels"`
		} `json:"config"`
	}
	_ = json.Unmarshal(text, &config) // without labels, they say nothing
	return config.Config.Labels, nil
}

// planErrata returns the errata of a plan.
func planErrata(ctx context.Context, s *workspace.Session, p *plan.Plan) (*Errata, error) {
	streams, err := env.Streams(&s.Env.Registries)
	if err != nil {
		return nil, err
	}
	all, done := int64(len(labeled(p))), atomic.Int64{}
	stop := env.Show(s.Env.Observer, "reading labels", func() progress.Reading { return progress.Reading{Images: all, ImagesDone: done.Load()} })
	defer stop()
	return ReadErrata(ctx, p, s.Sources.Origin.Planning(), streams, func() { done.Add(1) })
}
