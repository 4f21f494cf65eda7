package admission

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// TestCheckFormatKept checks that a configuration without the format of the run before is refused, and that this is a warning
// for plans and archives.
func TestCheckFormatKept(t *testing.T) {
	t.Parallel()
	const docker = manifest.Format("docker")
	to := &site.RegistryDestination{RegistryPath: mirror.RegistryPath{Host: "mirror.example.com"}, Format: docker}
	for name, tc := range map[string]struct {
		configured    bool
		given         string
		to            *site.RegistryDestination
		format        manifest.Format
		refused, warn bool
	}{
		"an archive":            {true, "", nil, "", false, false},
		"never converted":       {true, "", &site.RegistryDestination{}, "", false, false},
		"converted again":       {true, "", to, docker, false, false},
		"kept on purpose":       {true, "keep", to, "", false, false},
		"forgotten":             {true, "", to, "", true, false},
		"a plan without format": {false, "", to, "", false, true},
	} {
		var warnings []string
		e := &env.Env{Warn: func(text string) { warnings = append(warnings, text) }}
		err := CheckFormatKept(e, tc.configured, tc.given, tc.to, &plan.Plan{Name: "ocp", Format: tc.format})
		if (err != nil) != tc.refused || tc.refused && advice.KindOf(err) != advice.Input || len(warnings) > 0 != tc.warn {
			t.Errorf("%s: %v, warnings %q", name, err, warnings)
		}
	}
}
