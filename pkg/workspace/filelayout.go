package workspace

import (
	"github.com/gantry-mirror/gantry/pkg/state"
)

// The layouts of MirrorOptions.Layout.
const (
	GantryLayout   = string(state.GantryLayout)
	OCMirrorLayout = string(state.OCMirrorLayout)
)

// Layouts returns the values of MirrorOptions.Layout.
func Layouts() []string { return []string{GantryLayout, OCMirrorLayout} }
