package catalog

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignoredByGit is matchIgnored with go-git's matcher, for lines of one file.
func ignoredByGit(file string, lines []string, name string) bool {
	var patterns []gitignore.Pattern
	for _, line := range lines {
		patterns = append(patterns, gitignore.ParsePattern(line, folders(file)))
	}
	return gitignore.NewMatcher(patterns).Match(strings.Split(name, "/"), false)
}

func checkIgnored(t *testing.T, file string, lines []string, name string) (ignored bool) {
	t.Helper()
	ignored = matchIgnored(map[string][]string{file: lines})(name)
	if want := ignoredByGit(file, lines, name); ignored != want {
		t.Errorf("%s with %q: %s is ignored: %v, want %v", file, lines, name, ignored, want)
	}
	return ignored
}

// TestIgnoredLikeOLM compares the rules of .indexignore with the library that OLM uses.
func TestIgnoredLikeOLM(t *testing.T) {
	t.Parallel()
	lines := []string{
		"a", "a/", "/a", "!a", "!a/", "a/b", "a/b/", "/a/b", "a//b", "a/**", "a/**/", "**", "**/", "**/b", "**/b/", "/**/b", "a/**/b", "a/**//b", "a**/b", "a**",
		"*", "*/", "/*", "*/b", "?", "[a", "[a/b", "a/[b", "**/[b", "[ab]", `\a`, `a\ `, `a\  `, "a ", "a  ", " a", "!", "/", "//", "!/", "!!a", "#", "*.md\r", "a\r",
		"**/a/**/b", "**/a/b", "a/**/a/b", "a/*/b", "**/**/b", "**//b/**", "./a", "../a", "a/.", "",
	}
	names := []string{
		"a", "b", "a/b", "a/a", "b/a", "b/b", "a/b/c", "a/a/b", "b/a/b", "a/c/b", "a/b/a/b", "c/a/c/a/b", "a/b/b/a", "c", "a ", " a", "a\r", "x.md\r", "#", ".", "a/.",
		"[a", "a/[b", "", "!a", "ä/a",
	}
	ignored, all := 0, 0
	for _, file := range []string{IgnoreFile, "a/" + IgnoreFile, "a/b/" + IgnoreFile} {
		for _, line := range lines {
			for _, name := range names {
				all++
				if checkIgnored(t, file, []string{line}, name) {
					ignored++
				}
			}
		}
	}
	if ignored < all/20 || ignored > all/2 {
		t.Errorf("%d of %d are ignored, which compares little", ignored, all)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, most int) []string {
		some := make([]string, 1+r.IntN(most))
		for i := range some {
			some[i] = from[r.IntN(len(from))]
		}
		return some
	}
	parts := []string{"a", "b", "*", "**", "", "?", "a*", "[", "c"}
	for range 20000 {
		var rules []string
		for range 1 + r.IntN(3) {
			rules = append(rules, []string{"", "", "!"}[r.IntN(3)]+strings.Join(pick(parts, 5), "/"))
		}
		checkIgnored(t, path.Join(append(pick([]string{"a", "b"}, 1)[:r.IntN(2)], IgnoreFile)...), rules, strings.Join(pick([]string{"a", "b", "c", "ab"}, 5), "/"))
	}
}

func FuzzIgnored(f *testing.F) {
	f.Add("a/**/b", "!a/b/", "a/c/b")
	f.Add("[", "a**/b", "a/b")
	f.Fuzz(func(t *testing.T, first, second, name string) {
		checkIgnored(t, "a/"+IgnoreFile, []string{first, second}, name)
	})
}
