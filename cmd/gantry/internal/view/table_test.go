package view

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestTableWithShortLines checks that the last cell of a line with fewer cells widens no column.
func TestTableWithShortLines(t *testing.T) {
	got := align(40, []string{"Plan\tsha256:0123456789abcdef0123456789abcdef", "Images\t1\t(1 bundle, 1 related and 25 additional ones)", "All"})
	want := `Plan    sha256:0123456789abcdef0123456789abcdef
Images  1  (1 bundle, 1 related and 25
           additional ones)
All
`
	fail.Diff(t, want, got)
}

// TestTableFitsTheScreen checks that a narrow screen loses columns in their order, then wraps cells between words, and
// then gives names a line of their own, but breaks no word; and that without a limit everything is there.
func TestTableFitsTheScreen(t *testing.T) {
	const name, digest = "acme/a-repository-with-a-long-name:v1", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef"
	render := func(width int) string {
		return tabulate(width, "  NAME\tKIND\tDIGEST\tNAMED BY", []string{
			"  " + name + "\trelated\t" + digest + "\tlantern, tidewater and others",
			"  acme/größe:v2\tbundle\tsha256:fedc\tnot-a-list, of-short, elements",
		}, "DIGEST", "KIND")
	}
	whole := `  NAME                                   KIND     DIGEST                                                   NAMED BY
  acme/a-repository-with-a-long-name:v1  related  sha256:0123456789abcdef0123456789abcdef0123456789abcdef  lantern, tidewater and others
  acme/größe:v2                          bundle   sha256:fedc                                              not-a-list, of-short, elements
`
	for width, want := range map[int]string{
		0: whole, 137: whole,
		80: `  NAME                                   KIND     NAMED BY
  acme/a-repository-with-a-long-name:v1  related  lantern, tidewater and others
  acme/größe:v2                          bundle   not-a-list, of-short, elements
`,
		79: `  NAME                                   KIND     NAMED BY
  acme/a-repository-with-a-long-name:v1  related  lantern, tidewater and others
  acme/größe:v2                          bundle   not-a-list, of-short,
                                                  elements
`,
		60: `  NAME
      KIND     NAMED BY
  acme/a-repository-with-a-long-name:v1
      related  lantern, tidewater and others
  acme/größe:v2
      bundle   not-a-list, of-short, elements
`,
	} {
		fail.Diff(t, want, render(width))
	}
	for width := 39; width < 140; width++ {
		for line := range strings.Lines(render(width)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns on a screen of %d: %s", n, width, line)
			}
		}
	}
}
