package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/repositories"
)

// PreparedRegistry returns what gantry registry prepare created, or the commands that would. failed reports
// whether it ended with an error.
func PreparedRegistry(r *repositories.Prepared, failed bool) string {
	if len(r.Commands) > 0 {
		return strings.Join(r.Commands, "\n") + "\n"
	}
	one, many := "repository", "repositories"
	if r.Kind == "harbor" {
		one, many = "project", "projects"
	}
	var b strings.Builder
	created := 0
	for _, done := range r.Repositories {
		if done.Created {
			created++
			fmt.Fprintf(&b, "created %s\n", OneLine(done.Name))
		}
	}
	n := len(r.Repositories)
	switch {
	case created == 0 && failed:
		return ""
	case created == 0:
		fmt.Fprintf(&b, "Nothing to create at %s. Already present: %s.\n", OneLine(r.Mirror), Number(n, one, many))
	default:
		fmt.Fprintf(&b, "Created %s at %s. Already present: %d.\n", Number(created, one, many), OneLine(r.Mirror), n-created)
	}
	return b.String()
}
