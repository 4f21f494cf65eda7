package resources

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// maxSuffix is the maximum length of a suffix.
const maxSuffix = 30

// maxServiceName is the maximum length of the name of an UpdateService: its operator makes a host name
// of name and namespace.
const maxServiceName = 63 - len("-"+updateServiceNamespace) - len("-route")

var suffixPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) })

// CheckSuffix returns an error if a suffix cannot be part of the names of objects.
func CheckSuffix(suffix string) error {
	switch {
	case len(suffix) > maxSuffix:
		return fmt.Errorf("%q has %d characters, at most %d are allowed", suffix, len(suffix), maxSuffix)
	case !suffixPattern().MatchString(suffix):
		return fmt.Errorf("%q is not lower case letters, digits and dashes, with a letter or digit first and last", suffix)
	}
	return nil
}

// CheckNamespace returns an error if clusters have no namespace of this name.
func CheckNamespace(name string) error {
	if len(name) > 63 || !suffixPattern().MatchString(name) {
		return fmt.Errorf("%q is not a namespace: lower case letters, digits and dashes, with a letter or digit first and last, at most 63 characters", name)
	}
	return nil
}

// NewSuffix returns a suffix made from a name, and different from those that are taken.
func NewSuffix(name string, taken []string) string {
	suffix := sanitize(name, maxSuffix)
	for n := 0; suffix == "" || slices.Contains(taken, suffix); n++ {
		hash := reference.ShortHash(fmt.Sprint(name, " ", n))
		suffix = strings.Trim(sanitize(name, maxSuffix-len(hash)-1)+"-"+hash, "-")
	}
	return suffix
}

var mirrorSetName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:icsp|idms|itms)-[a-z]+-(?:(.+)-)?[0-9]+$`)
})

// SuffixOf returns the suffix of the mirror sets among objects that Build wrote. known is false if there
// are none.
func SuffixOf(objects []ObjectName) (suffix string, known bool) {
	for _, o := range objects {
		if m := mirrorSetName().FindStringSubmatch(o.Name); m != nil && (strings.HasSuffix(o.Kind, "MirrorSet") || o.Kind == "ImageContentSourcePolicy") {
			return m[1], true
		}
	}
	return "", false
}

// serviceName returns the name of the UpdateService.
func serviceName(suffix string) string {
	if suffix == "" {
		return updateServiceName
	}
	const prefix = "update-service-"
	if name := prefix + suffix; len(name) <= maxServiceName && name != updateServiceName {
		return name
	}
	hash := reference.ShortHash(suffix)
	return prefix + sanitize(suffix, maxServiceName-len(prefix)-len(hash)-1) + "-" + hash
}
