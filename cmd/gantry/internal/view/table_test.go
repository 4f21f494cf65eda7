package view

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestTableWithShortLines checks that the last cell of a line with fewer cells widens no column.
func TestTableWithShortLines(t *testing.T) {
	got := align(24, []string{"Plan\tsha256:0123456789abcdef0123456789abcdef", "Images\t1\t(1 bundle)", "All"})
	want := "Plan    sha256:012345...\nImages  1  (1 bundle)\nAll\n"
	fail.Diff(t, want, got)
}

// TestTableFitsTheScreen checks that a table is shortened in its widest columns only, and not at all
// where there is no limit.
func TestTableFitsTheScreen(t *testing.T) {
	render := func(width int) string {
		return align(width, []string{
			"  NAME\tKIND\tDIGEST",
			"  acme/a-repository-with-a-long-name:v1\trelated\tsha256:0123456789abcdef0123456789abcdef0123456789abcdef",
			"  acme/größe:v2\tbundle\tsha256:fedc",
		})
	}
	want := `  NAME                                   KIND     DIGEST
  acme/a-repository-with-a-long-name:v1  related  sha256:0123456789abcdef0123456789abcdef0123456789abcdef
  acme/größe:v2                          bundle   sha256:fedc
`
	if got := render(0); got != want {
		t.Errorf("without a limit:\n%swant:\n%s", got, want)
	}
	if got := render(120); got != want {
		t.Errorf("on a wide screen:\n%swant:\n%s", got, want)
	}
	want = `  NAME                       KIND     DIGEST
  acme/a-repository-with...  related  sha256:0123456789abcdef01...
  acme/größe:v2              bundle   sha256:fedc
`
	if got := render(66); got != want {
		t.Errorf("with 66 columns:\n%swant:\n%s", got, want)
	}
	for width := 40; width < 120; width++ {
		for line := range strings.Lines(render(width)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns on a screen of %d: %s", n, width, line)
			}
		}
	}
}
