package admission

import (
	"github.com/gantry-mirror/gantry/pkg/env"
)

// ErrLayoutCompared is the error of options about the catalogs of a destination, which layouts do not compare.
func ErrLayoutCompared() error {
	return env.InputHint("leave them out", "Options.OnStrand "+OnStrandRefuse+" and Options.AllowOlder are for docker:// and file:// destinations: catalogs are not compared with those of an oci:// layout")
}
