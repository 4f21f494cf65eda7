package copying

import (
	"github.com/gantry-mirror/gantry/plan/selection"
)

// OnErrors returns the values of Rules.OnError.
func OnErrors() []string {
	return []string{selection.OnErrorStop, selection.OnErrorContinue, selection.OnErrorPackage}
}
