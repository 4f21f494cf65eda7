package env

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// SafeName returns a text as a name for files.
func SafeName(s string) string {
	s = strings.TrimLeft(notInName().ReplaceAllString(s, "-"), ".-")
	return cmp.Or(s, "imageset")
}
