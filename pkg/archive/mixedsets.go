package archive

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A MixedSetsError reports that the folders contain sets of two archives, and only one of them can
// be opened.
type MixedSetsError struct {
	what string
	hint string
}

func (e *MixedSetsError) Error() string { return e.what }

// Advice implements advice.Adviser.
func (e *MixedSetsError) Advice() (advice.Kind, string) { return advice.Input, e.hint }

// mixedSets returns a MixedSetsError for folders that the user named.
func mixedSets(format string, args ...any) *MixedSetsError {
	return &MixedSetsError{what: fmt.Sprintf(format, args...), hint: "name the folders of one"}
}
