package histories

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestModelKnowsNothing checks that what decides what is wanted, and what compares it with the registry, imports no package of
// Gantry but those that make content for tests.
func TestModelKnowsNothing(t *testing.T) {
	t.Parallel()
	const module = "github.com/gantry-mirror/gantry/"
	may := []string{"pkg/fail", "pkg/registrytest", "pkg/platform/releasetest"}
	for _, name := range []string{"model_test.go", "source_test.go", "registry_test.go", "foreign_test.go", "check_test.go", "end_test.go", "select_test.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		fail.On(t, err)
		for _, i := range f.Imports {
			if path, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); own && !slices.Contains(may, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
