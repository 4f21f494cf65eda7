package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

// checkParts checks that the mirror has every image that a release names, and their sigstore
// signatures if clusters require them.
func (c *Check) checkParts(ctx context.Context, p *payload.Payload) ([]Problem, error) {
	v, err := semver.Parse(p.Version)
	if err != nil {
		return nil, err
	}
	signed := cosign.Needed(v)
	missing := make([][]Problem, len(p.Components)+1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Jobs)
	g.Go(func() (err error) {
		missing[0], err = c.checkPart(ctx, "release image", c.Releases, p.Digest, signed)
		return err
	})
	for i, component := range p.Components {
		g.Go(func() (err error) {
			missing[i+1], err = c.checkPart(ctx, "component "+strings.Join(component.Names, ", "), c.Components, component.Digest, signed)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(missing...), err
}

// checkPart checks one image. Of an index it checks every child; signatures are required of images
// that are not an index.
func (c *Check) checkPart(ctx context.Context, what, repository string, d digest.Digest, signed bool) ([]Problem, error) {
	at := repository + "@" + d.String()
	desc, err := c.registry.Resolve(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingPart(what, at), nil
	case err != nil:
		return nil, err
	case manifest.IsIndex(desc.MediaType):
		return c.checkChildren(ctx, what, repository, at, signed)
	}
	if c.BlobProblem != nil {
		if problem, err := c.BlobProblem(ctx, at); problem != "" || err != nil {
			return []Problem{{Problem: what + ": " + problem, At: at, Hint: copyBlobs}}, err
		}
	}
	if !signed {
		return nil, nil
	}
	at = repository + ":" + cosign.Tag(d)
	if _, err = c.registry.Resolve(ctx, at); errors.Is(err, fs.ErrNotExist) {
		return missingPart("signatures of "+what, at), nil
	}
	return nil, err
}

// checkChildren checks the images of an index.
func (c *Check) checkChildren(ctx context.Context, what, repository, at string, signed bool) ([]Problem, error) {
	_, raw, err := c.registry.Manifest(ctx, at, "")
	if err != nil {
		return nil, err
	}
	var list ocispec.Index
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the index %s: %w", at, err)
	}
	var problems []Problem
	for _, child := range list.Manifests {
		more, err := c.checkPart(ctx, fmt.Sprintf("%s for %s", what, platformName(child.Platform)), repository, child.Digest, signed)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	return problems, nil
}

func missingPart(what, at string) []Problem {
	return []Problem{{Problem: what + ": missing from the mirror", At: at, Hint: mirrorAgain}}
}

func platformName(p *ocispec.Platform) string {
	if p == nil {
		return "no platform"
	}
	return p.OS + "/" + p.Architecture
}
