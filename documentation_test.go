package gantry_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// maxWords is how many words people may have to read: those of README, the chapters and the recipes, as wc -w counts
// them. What is generated or measured does not count: docs/reference, and pages that begin with measuredPage.
const maxWords = 45_000

const measuredPage = "<!-- Measured by make"

// handwritten are the pages that count.
func handwritten(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/recipes/*.md"} {
		files, err := filepath.Glob(pattern)
		fail.On(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			fail.On(t, err)
			if strings.HasPrefix(string(text), measuredPage) {
				continue
			}
			pages[filepath.ToSlash(file)] = string(text)
		}
	}
	return pages
}

func TestDocumentationIsShort(t *testing.T) {
	t.Parallel()
	words := 0
	for _, text := range handwritten(t) {
		words += len(strings.Fields(text))
	}
	t.Logf("the documentation has %d words", words)
	if words > maxWords {
		t.Errorf("the documentation has %d words, and the limit is %d: say what is new in place of something else", words, maxWords)
	}
}

var (
	docLink  = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	docTitle = regexp.MustCompile(`(?m)^#+ (.*)$`)
	docCode  = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	notID    = regexp.MustCompile(`[^a-z0-9_ -]`)
)

// TestDocumentationLinks follows the links between pages, also to titles.
func TestDocumentationLinks(t *testing.T) {
	t.Parallel()
	pages := handwritten(t)
	for _, extra := range []string{"CHANGELOG.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(extra)
		fail.On(t, err)
		pages[extra] = string(text)
	}
	for page, text := range pages {
		for _, m := range docLink.FindAllStringSubmatch(docCode.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, title, _ := strings.Cut(m[1], "#")
			if file = path.Join(path.Dir(page), file); strings.HasPrefix(m[1], "#") {
				file = page
			}
			target, err := os.ReadFile(filepath.FromSlash(file))
			if info, statErr := os.Stat(filepath.FromSlash(file)); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s: %s does not exist", page, m[1])
			} else if title != "" && !hasTitle(string(target), title) {
				t.Errorf("%s: %s has no title #%s", page, file, title)
			}
		}
	}
}

// hasTitle reports whether a page has a title with this identifier, as forges make them.
func hasTitle(text, id string) bool {
	for _, m := range docTitle.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(notID.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-") == id {
			return true
		}
	}
	return false
}

// TestRecipesAreListed requires a link to each recipe in the README and in the list of recipes.
func TestRecipesAreListed(t *testing.T) {
	t.Parallel()
	pages := handwritten(t)
	for page := range pages {
		name, isRecipe := strings.CutPrefix(page, "docs/recipes/")
		if !isRecipe || name == "README.md" {
			continue
		}
		if !strings.Contains(pages["README.md"], "]("+page+")") || !strings.Contains(pages["docs/recipes/README.md"], "]("+name+")") {
			t.Errorf("%s is not in README.md and docs/recipes/README.md", page)
		}
	}
}
