package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	// maxDated is the maximum number of tags of a rule whose images are read for the time of their creation: each
	// takes up to three requests.
	maxDated = 2000
	// datedBatch is the number of images that are read before it is decided whether more are needed.
	datedBatch = 16
	// maxConfig is the maximum size of a config that is read for the time, in bytes.
	maxConfig = 32 << 20
)

// creationTimes reads when the images of tags were created, in the order of the tags, until there are
// enough for the rule. A zero time is unknown.
func creationTimes(ctx context.Context, repo reference.Reference, selector *tagrule.Selector, matched []tagrule.Tag, sources Sources, opts Options) (map[string]time.Time, error) {
	created, found := map[string]time.Time{}, 0
	for rest := matched; len(rest) > 0 && !selector.Enough(matched, found); {
		n := len(rest)
		if selector.Enough(matched, len(matched)) { // a few are enough
			n = min(n, datedBatch)
		}
		if len(created)+n > maxDated {
			return nil, advice.New(advice.Input, "select fewer tags with regex or semver",
				"the creation times of %d images would have to be read, more than %d", len(matched), maxDated)
		}
		times, err := collect(ctx, n, opts.Jobs, func(ctx context.Context, i int) (time.Time, error) {
			return CreationTime(ctx, sources.Images, repo.WithTag(rest[i].Name).String())
		})
		if err != nil {
			return nil, err
		}
		for i, at := range times {
			created[rest[i].Name] = at
			if selector.MeetsAge(at) {
				found++
			}
		}
		rest = rest[n:]
	}
	return created, nil
}

// CreationTime returns when an image was created: by the annotation org.opencontainers.image.created of an index, else by the
// config of its first image; by the config of an image, else by that annotation. The result is zero if none of them has a time
// after 1970, which builders of reproducible images write, or if the image is not at the source.
func CreationTime(ctx context.Context, images image.Reader, source string) (time.Time, error) {
	_, raw, err := images.Manifest(ctx, source, "")
	for range plan.MaxDepth + 1 {
		if errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, nil
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("reading %s for its creation time: %w", source, err)
		}
		var m struct {
			Config      *ocispec.Descriptor  `json:"config"`
			Manifests   []ocispec.Descriptor `json:"manifests"`
			Annotations map[string]string    `json:"annotations"`
		}
		if json.Unmarshal(raw, &m) != nil {
			return time.Time{}, nil //nolint:nilerr // without a time, it is unknown
		}
		annotated := parseTime(m.Annotations[ocispec.AnnotationCreated])
		if !manifest.IsIndex(manifest.TypeOf(raw)) {
			at, err := configTime(ctx, images, source, m.Config)
			if err != nil || at.IsZero() {
				return annotated, err
			}
			return at, nil
		}
		child := slices.IndexFunc(m.Manifests, func(d ocispec.Descriptor) bool {
			return d.Platform != nil && d.Platform.OS != "" && d.Platform.OS != "unknown"
		})
		if child < 0 && len(m.Manifests) > 0 {
			child = 0
		}
		if !annotated.IsZero() || child < 0 {
			return annotated, nil
		}
		_, raw, err = images.Manifest(ctx, source, m.Manifests[child].Digest)
	}
	return time.Time{}, nil
}

// configTime returns the time in the config of an image; zero if it is not the config of a container image.
func configTime(ctx context.Context, images image.Reader, source string, desc *ocispec.Descriptor) (time.Time, error) {
	if desc == nil || desc.MediaType != ocispec.MediaTypeImageConfig && desc.MediaType != manifest.DockerConfig || desc.Size > maxConfig || checkDescriptor(*desc) != nil {
		return time.Time{}, nil //nolint:nilerr // without a time, it is unknown
	}
	r, err := images.Blob(ctx, source, *desc, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the config of %s for its creation time: %w", source, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxConfig))
	if err := errors.Join(err, r.Close()); err != nil {
		return time.Time{}, fmt.Errorf("reading the config of %s for its creation time: %w", source, err)
	}
	var config struct {
		Created string `json:"created"`
	}
	_ = json.Unmarshal(text, &config) // without a time, it is unknown
	return parseTime(config.Created), nil
}

// parseTime reads a time; it is zero if there is none after 1970.
func parseTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Unix() <= 0 {
		return time.Time{}
	}
	return at
}
