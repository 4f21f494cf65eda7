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

	"github.com/gantry-mirror/gantry/pkg/manifest"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

// parts asks for every image of a release, as it names them itself, and for its
// sigstore signatures where clusters want them.
func (c *Check) parts(ctx context.Context, p *payload.Payload) ([]Problem, error) {
	v, err := semver.Parse(p.Version)
	if err != nil {
		return nil, err
	}
	signed := cosign.Needed(v)
	lacking := make([][]Problem, len(p.Components)+1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Jobs)
	g.Go(func() (err error) {
		lacking[0], err = c.part(ctx, "release image", c.Releases, p.Digest, signed)
		return err
	})
	for i, component := range p.Components {
		g.Go(func() (err error) {
			lacking[i+1], err = c.part(ctx, "component "+strings.Join(component.Names, ", "), c.Components, component.Digest, signed)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(lacking...), err
}

// part asks for an image, the images of a list, and the signatures of those that are
// no list.
func (c *Check) part(ctx context.Context, what, repository string, d digest.Digest, signed bool) ([]Problem, error) {
	at := repository + "@" + d.String()
	desc, err := c.registry.Resolve(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notThere(what, at), nil
	case err != nil:
		return nil, err
	case manifest.IsIndex(desc.MediaType):
		return c.listed(ctx, what, repository, at, signed)
	case !signed:
		return nil, nil
	}
	at = repository + ":" + cosign.Tag(d)
	if _, err = c.registry.Resolve(ctx, at); errors.Is(err, fs.ErrNotExist) {
		return notThere("signatures of "+what, at), nil
	}
	return nil, err
}

// listed asks for the images of a list.
func (c *Check) listed(ctx context.Context, what, repository, at string, signed bool) ([]Problem, error) {
	_, raw, err := c.registry.Manifest(ctx, at, "")
	if err != nil {
		return nil, err
	}
	var list ocispec.Index
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the list %s: %w", at, err)
	}
	var problems []Problem
	for _, child := range list.Manifests {
		more, err := c.part(ctx, fmt.Sprintf("%s for %s", what, platformName(child.Platform)), repository, child.Digest, signed)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	return problems, nil
}

func notThere(what, at string) []Problem {
	return []Problem{{Problem: what + ": it is not there", At: at, Hint: bringIt}}
}

func platformName(p *ocispec.Platform) string {
	if p == nil {
		return "no platform"
	}
	return p.OS + "/" + p.Architecture
}
