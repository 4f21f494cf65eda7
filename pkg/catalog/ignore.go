package catalog

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// IgnoreFile is the name of the files that list, in gitignore's syntax, files that are not part of
// a catalog.
const IgnoreFile = ".indexignore"

// maxIgnoreFile is the maximum size in bytes, more than any list of patterns needs.
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

// matchIgnored returns a function that reports whether a file is ignored. The keys of ignores are
// the paths of the `.indexignore` files. The patterns of each apply to its folder; those of a
// deeper folder override. Like OLM it matches files only and never prunes a folder, so a pattern
// can re-include a file in an ignored folder, unlike in git.
func matchIgnored(ignores map[string][]string) func(name string) bool {
	var patterns []ignorePattern
	files := elements.Sorted(maps.Keys(ignores), func(a, b string) int {
		return slices.Compare(folders(a), folders(b))
	})
	for _, file := range files {
		for _, line := range ignores[file] {
			patterns = append(patterns, parseIgnorePattern(line, folders(file)))
		}
	}
	slices.Reverse(patterns)
	return func(name string) bool {
		file := strings.Split(name, "/")
		i := slices.IndexFunc(patterns, func(p ignorePattern) bool { return p.match(file) })
		return i >= 0 && !patterns[i].include
	}
}

// folders returns the names of the folders that contain a file, outermost first.
func folders(file string) []string {
	dir := path.Dir(file)
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}
