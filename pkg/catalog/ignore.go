package catalog

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// IgnoreFile is the name of the files that say, in gitignore's syntax, which
// files of a catalog are not part of it.
const IgnoreFile = ".indexignore"

// maxIgnoreFile is more than any list of patterns needs.
const maxIgnoreFile = 1 << 20

// readIgnore returns the pattern lines of an `.indexignore`.
func readIgnore(r io.Reader) ([]string, error) {
	limited := &io.LimitedReader{R: r, N: maxIgnoreFile + 1}
	scanner := bufio.NewScanner(limited)
	scanner.Buffer(nil, maxIgnoreFile+1)
	var lines []string
	for scanner.Scan() {
		line := scanner.Text()
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxIgnoreFile)
	}
	return lines, nil
}

// matchIgnored returns what says whether a file is ignored. The keys of ignores
// are the paths of the `.indexignore` files; the patterns of each hold for the
// folder that it stands in, and those of a deeper folder win. Like OLM it asks
// for files only and never prunes a folder, so a file can be let back in where
// git would not look.
func matchIgnored(ignores map[string][]string) func(name string) bool {
	var patterns []gitignore.Pattern
	files := slices.SortedFunc(maps.Keys(ignores), func(a, b string) int {
		return slices.Compare(folders(a), folders(b))
	})
	for _, file := range files {
		for _, line := range ignores[file] {
			patterns = append(patterns, gitignore.ParsePattern(line, folders(file)))
		}
	}
	if len(patterns) == 0 {
		return func(string) bool { return false }
	}
	matcher := gitignore.NewMatcher(patterns)
	return func(name string) bool {
		return matcher.Match(strings.Split(name, "/"), false)
	}
}

// folders are the names of the folders that a file stands in, outermost first.
func folders(file string) []string {
	dir := path.Dir(file)
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}
