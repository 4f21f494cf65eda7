package reference

import "regexp"

// The grammar of a repository's path and of a tag, as regular expressions that
// a JSON Schema takes too: those of github.com/distribution/reference.
const (
	PathPattern = `^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	TagPattern  = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`
)

// MaxPath is how long a repository's path may be, in bytes.
const MaxPath = 255

var (
	pathGrammar = regexp.MustCompile(PathPattern)
	tagGrammar  = regexp.MustCompile(TagPattern)
)

// IsPath reports whether s is a repository's path below the host: "org/name".
func IsPath(s string) bool { return len(s) <= MaxPath && pathGrammar.MatchString(s) }

// IsTag reports whether s is a tag.
func IsTag(s string) bool { return tagGrammar.MatchString(s) }
