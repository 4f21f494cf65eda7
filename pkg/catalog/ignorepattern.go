package catalog

import (
	"path"
	"strings"
)

// An ignorePattern is a line of an `.indexignore`. It matches as go-git's gitignore does, which OLM
// uses, also where that differs from git: a pattern with `**` takes the first name that fits, and a
// pattern matches all files below what it names. The tests compare the two.
type ignorePattern struct {
	// below are the folders of the file with the line. The pattern applies to files below them.
	below []string
	// names are the patterns of single names, between slashes.
	names []string
	// include is for a pattern after "!": files that match are not ignored.
	include bool
	// folder is for a pattern that ends in a slash: it names no file.
	folder bool
}

// parseIgnorePattern parses a line that is neither empty nor a comment.
func parseIgnorePattern(line string, below []string) ignorePattern {
	p := ignorePattern{below: below}
	line, p.include = strings.CutPrefix(line, "!")
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	line, p.folder = strings.CutSuffix(line, "/")
	p.names = strings.Split(line, "/")
	return p
}

// match reports whether the pattern is about a file.
func (p ignorePattern) match(file []string) bool {
	if len(file) <= len(p.below) {
		return false
	}
	for i, name := range p.below {
		if file[i] != name {
			return false
		}
	}
	file = file[len(p.below):]
	if len(p.names) == 1 {
		at := firstMatch(p.names[0], file)
		return at >= 0 && (!p.folder || at < len(file)-1)
	}
	return p.matchPath(file)
}

// matchPath matches a pattern of several names. The file's names are those below p.below.
func (p ignorePattern) matchPath(file []string) bool {
	matched, anywhere := false, false
	for i, pattern := range p.names {
		switch {
		case pattern == "": // a slash at the beginning, or two in a row
			anywhere = false
			continue
		case pattern == "**" && i == len(p.names)-1:
			continue
		case pattern == "**":
			anywhere = true
			continue
		case strings.Contains(pattern, "**"), len(file) == 0:
			return false
		}
		among := file
		if !anywhere {
			among = file[:1]
		}
		at := firstMatch(pattern, among)
		if at < 0 {
			return false
		}
		matched, anywhere, file = true, false, file[at+1:]
	}
	return matched && (!p.folder || len(file) > 0)
}

// firstMatch returns the index of the first name that matches a pattern, or -1. An invalid pattern
// matches nothing.
func firstMatch(pattern string, names []string) int {
	for i, name := range names {
		if ok, err := path.Match(pattern, name); err != nil {
			return -1
		} else if ok {
			return i
		}
	}
	return -1
}
