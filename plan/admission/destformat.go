package admission

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// CheckFormatKept returns an error if a configuration without DestFormat would convert the images of an image set back that
// were converted in its last run to a mirror. Plans and archives have their format in them, so that this is a warning.
func CheckFormatKept(e *env.Env, configured bool, given string, t *site.RegistryDestination, p *plan.Plan) error {
	switch {
	case t == nil || t.Format == "" || p.Format != "" || given != "":
		return nil
	case !configured:
		e.Warnf("the image set %q was mirrored to %s with media types converted to %s, and its images are converted no longer: those that had other digests are copied again, and gantry prune deletes the others", p.Name, t, t.Format)
		return nil
	}
	return env.InputHint(fmt.Sprintf("set Options.DestFormat to %s as before, or to %s if the registry accepts the media types of the sources now: images with other digests are then copied again", t.Format, selection.KeepFormat),
		"the image set %q was mirrored to %s with Options.DestFormat %s, and this run has no Options.DestFormat", p.Name, t, t.Format)
}
