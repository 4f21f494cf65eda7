package updates

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A Minor is a minor version, such as 4.20.
type Minor struct{ Major, Minor int }

func (m Minor) String() string { return fmt.Sprintf("%d.%d", m.Major, m.Minor) }

// Compare returns -1, 0 or 1, as cmp.Compare does.
func (m Minor) Compare(other Minor) int {
	return cmp.Or(cmp.Compare(m.Major, other.Major), cmp.Compare(m.Minor, other.Minor))
}

// ParseMinor parses a minor version.
func ParseMinor(text string) (Minor, bool) {
	if !MinorVersion().MatchString(text) {
		return Minor{}, false
	}
	major, rest, _ := strings.Cut(text, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(rest)
	return Minor{Major: a, Minor: b}, errA == nil && errB == nil
}

// MinorVersion matches a minor version, such as "4.20".
var MinorVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+$`) })
