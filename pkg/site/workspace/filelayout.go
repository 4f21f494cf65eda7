package workspace

import (
	"github.com/gantry-mirror/gantry/pkg/state"
)

// The layouts of files for users.
const (
	GantryLayout   = string(state.GantryLayout)
	OCMirrorLayout = string(state.OCMirrorLayout)
)

// Layouts returns the names of the layouts of files for users.
func Layouts() []string { return []string{GantryLayout, OCMirrorLayout} }
