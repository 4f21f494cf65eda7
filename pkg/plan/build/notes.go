package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// sortedNotes joins lists of notes: sorted, without duplicates and control characters.
func sortedNotes(lists ...[]string) []string {
	all := slices.Concat(lists...)
	for i := range all {
		all[i] = plan.CleanMessage(all[i])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// count returns "1 image" or "2 images".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shortList joins the first items and counts the others.
func shortList(all []string) string {
	if more := len(all) - maxListed; more > 0 {
		return strings.Join(all[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}
