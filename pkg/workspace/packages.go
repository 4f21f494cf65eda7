package workspace

import (
	"github.com/gantry-mirror/gantry/pkg/env"
)

// CloseSources closes sources in a defer. An error is logged.
func CloseSources(e *env.Env, r *Sources) {
	if err := r.Close(); err != nil {
		e.Logger().Warn("removing the files of this run", "error", err)
	}
}
