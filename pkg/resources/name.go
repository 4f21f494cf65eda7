package resources

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// namePattern is what the name of a CatalogSource must match, since OLM uses it for a Service (RFC
// 1035) and as a label value; at most 63 characters. The other objects follow the same rule.
var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`) })

const maxName = 63

// The names of a catalog's objects begin with these, and end with the catalog's name. Both have the
// same length.
const (
	sourcePrefix  = "cs-"
	clusterPrefix = "cc-"
)

// A title is the human-readable name of a catalog: the last element of its source's path; its tag,
// or "" for a folder or a digest; and both as the console displays them: "redhat-operator-index
// v4.18".
type title struct{ element, tag, display string }

// identity distinguishes catalogs: the source, and the target if the configuration sets one.
func (c Catalog) identity() string {
	if c.Target == "" {
		return c.Source
	}
	return c.Source + " as " + c.Target
}

// readTitle returns the title from the source of a catalog, changed by the target that the
// configuration sets.
func readTitle(c Catalog) (title, error) {
	t, err := sourceTitle(c.Source)
	if err != nil || c.Target == "" {
		return t, err
	}
	repository, tag, _ := strings.Cut(c.Target, ":")
	if repository != "" {
		t.element = path.Base(repository)
	}
	if tag != "" {
		t.tag = tag
	}
	t.display = strings.TrimSpace(t.element + " " + t.tag)
	return t, nil
}

func sourceTitle(source string) (title, error) {
	if _, dir, ok := strings.Cut(source, "://"); ok {
		element := path.Base(dir)
		if sanitize(element, maxName) == "" { // "oci:///", or no letter that a name may have
			element = "catalog"
		}
		return title{element: element, display: element}, nil
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return title{}, err
	}
	element := path.Base(ref.Path)
	return title{element, ref.Tag, strings.TrimSpace(element + " " + ref.Tag)}, nil
}

// hashedName returns element, tag and a hash of the catalog's identity, as in
// "redhat-operator-index-v4-18-5b2c71d0". It differs for two sources that differ only in host or path.
// Versions that saved no names gave all catalogs such names, so it must not change.
func (t title) hashedName(identity string) string {
	tail := "-" + reference.ShortHash(identity)
	if tag := sanitize(t.tag, 20); tag != "" {
		tail = "-" + tag + tail
	}
	return sanitize(t.element, maxName-len(sourcePrefix)-len(tail)) + tail
}

// sanitize returns s in lower case with a dash for each run of characters other than letters and
// digits, cut to limit characters, without dashes at the ends.
func sanitize(s string, limit int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-")
	return strings.TrimRight(out[:min(len(out), limit)], "-")
}

// checkName returns an error if the name of an object is invalid.
func checkName(field, name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("%s %q has %d characters, at most %d are allowed", field, name, len(name), maxName)
	case !namePattern().MatchString(name):
		return fmt.Errorf("%s %q: use lower case letters, digits and dashes, with a letter first and no dash last", field, name)
	}
	return nil
}
