package mirroring

import (
	"context"
	"slices"

	"github.com/gantry-mirror/gantry/mirror/admission"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// checkReplaced compares the catalogs of a job with those that they replace, warns about what clusters lose, and
// refuses what the options do not permit. Catalogs that are built again during the copy are compared, too.
func checkReplaced(ctx context.Context, s *workspace.Session, o *Options, j *copying.Job, made *selection.Selected, originals bool, result *Result) error {
	running, err := planning.Running(ctx, s, j.To, &o.Selection, made, j.Plan().Name)
	if err != nil {
		return err
	}
	r := &admission.ReplacedReader{Session: s, To: j.To, Images: j.Catalogs, Originals: originals, Running: running.All}
	check := func(ctx context.Context, p *plan.Plan) error {
		replaced, err := r.Compare(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range replaced {
			result.Replaced = slices.DeleteFunc(result.Replaced, func(before admission.ReplacedCatalog) bool { return before.Catalog == c.Catalog })
		}
		result.Replaced = append(result.Replaced, replaced...)
		admission.WarnReplaced(s.Env, replaced)
		if err := admission.RefuseOlder(replaced, o.AllowOlder); err != nil {
			return err
		}
		if o.OnStrand != admission.OnStrandWarn {
			if err := admission.RefuseLost(p, replaced, running.Mirrored); err != nil {
				return err
			}
		}
		return admission.RefuseStranded(replaced, o.OnStrand)
	}
	j.Again = check
	return check(ctx, j.Plan())
}
