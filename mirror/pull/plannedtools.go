package pull

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/platform/tools"
)

// isTool reports whether a name is a tool, "oc", or looks like the file of one, "oc-4.20.5-linux-amd64".
func isTool(name string) bool {
	return slices.ContainsFunc(tools.Names(), func(tool string) bool {
		rest, ok := strings.CutPrefix(name, tool+"-")
		return name == tool || ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
	})
}
