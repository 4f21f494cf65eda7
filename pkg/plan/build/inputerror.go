package build

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// inputErrorf returns an error in the configuration, or in a file that it names.
func inputErrorf(format string, args ...any) error {
	return advice.Wrap(advice.Input, fmt.Errorf(format, args...), "")
}
