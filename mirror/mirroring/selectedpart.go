package mirroring

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// selectedPart returns what the configuration selects of the plan of an archive, all of it if there is none. What it names
// and the archive does not have is an error.
func (r *openedRun) selectedPart(ctx context.Context, p *plan.Plan) (*plan.Plan, error) {
	if r.selected == nil || r.selected.Config == nil {
		return p, nil
	}
	rest := deletion.RestOf(r.selected.Config, p)
	archives := strings.Join(r.o.From, ", ")
	switch {
	case len(rest.Absent) > 0:
		return nil, env.InputHint("write an archive with this configuration, or name only what the archive has; without Options.Config, all of it is mirrored",
			"%s does not have what the configuration names:\n  %s", archives, strings.Join(rest.Absent, "\n  "))
	case rest.Choice == nil:
		return p, nil
	}
	content := &mirror.Overlay{Source: r.have, Built: r.session.Sources.Origin, Has: r.hasMade}
	if to := r.to.Registry(); to != nil && len(r.have.Selected().BuildsOn) > 0 {
		to.Site.SetOmitted(r.have, p)
		content.Source = airgap.SourceWithSite(r.have, &to.Site, p)
	}
	from := r.session.Sources.Plan()
	from.Images = content
	removed, err := build.Remove(ctx, p, rest.Choice, from)
	if err != nil {
		err = fmt.Errorf("selecting a part of %s: %w", archives, err)
		if len(r.have.Selected().BuildsOn) > 0 {
			err = advice.Wrap(advice.KindOf(err), err, "name the folders of the archives that it builds on, too")
		}
		return nil, err
	}
	if r.part = len(removed.Catalogs) > 0 || len(removed.Plan.Images) < len(p.Images); r.part {
		r.session.Env.Noticef("%s selects %d of %s in %s; the rest is not mirrored", r.o.Config, len(removed.Plan.Images), env.Number(len(p.Images), "image", "images"), archives)
	}
	return removed.Plan, nil
}

// hasMade reports whether content is in the cache, such as catalogs without what is left out.
func (r *openedRun) hasMade(d digest.Digest) bool {
	_, ok := r.session.Sources.Cache.Size(d)
	return ok
}
