package upgrade

import (
	"fmt"
	"strings"
)

// maxNamed is the number of bundles that a sentence names.
const maxNamed = 3

// String returns the bundles and their problem as a sentence, without the fixes.
func (s StrandedBundles) String() string {
	where := "package " + s.Package
	if s.Channel != "" {
		where += ", channel " + s.Channel
	}
	names := strings.Join(s.Bundles[:min(len(s.Bundles), maxNamed)], ", ")
	if more := len(s.Bundles) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s (%s): %s: %s", where, strings.Join(s.Generations, ", "), names, s.Explanation)
}

// String returns the change as a sentence.
func (o OlderHead) String() string {
	return fmt.Sprintf("package %s, channel %s: the head goes back from %s to %s", o.Package, o.Channel, o.Before, o.After)
}
