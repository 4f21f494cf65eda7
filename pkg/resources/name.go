package resources

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// namePattern is what the name of a CatalogSource must match, for OLM makes a
// Service of that name (RFC 1035) and a label value; at most 63 characters.
// The other objects keep to it too.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

const maxName = 63

// A title is what people and names call a catalog: the last element of its
// source's path, its tag, or "" for a folder or a digest, and the two together
// as the console shows them: "redhat-operator-index v4.18".
type title struct{ element, tag, display string }

// identity is what makes a catalog another one: its source, and the target where
// the configuration sets one.
func (c Catalog) identity() string {
	if c.Target == "" {
		return c.Source
	}
	return c.Source + " as " + c.Target
}

// ClusterCatalogName is the name of the ClusterCatalog that Build writes for the
// catalog.
func (c Catalog) ClusterCatalogName() (string, error) {
	t, err := readTitle(c)
	if err != nil {
		return "", fmt.Errorf("catalog %s: %w", c.Source, err)
	}
	return t.manifestName("cc", c.identity()), nil
}

// CatalogSourceName is the namespace and name of the CatalogSource that Build
// writes for the catalog, as "openshift-marketplace/cs-index-v4-18-5b2c71d0"; what
// its template says goes first. The error is a source or a template that cannot be
// read.
func (c Catalog) CatalogSourceName() (string, error) {
	t, err := readTitle(c)
	if err != nil {
		return "", fmt.Errorf("catalog %s: %w", c.Source, err)
	}
	from, err := readTemplate(c.Template)
	if err != nil {
		return "", fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, err))
	}
	return from.id(t.manifestName("cs", c.identity())), nil
}

// readTitle takes the source of a catalog apart, and then what the configuration
// calls it instead.
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
		if plain(element, maxName) == "" { // "oci:///", or no letter that a name may have
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

// manifestName is the name of a catalog's object after prefix: element, tag and a
// hash of the catalog's identity, as in "cs-redhat-operator-index-v4-18-5b2c71d0".
// It depends on the configuration alone, not on what the catalog holds, so it
// stays from run to run; and two sources that differ only in host or path differ
// in it.
func (t title) manifestName(prefix, identity string) string {
	tail := "-" + reference.ShortHash(identity)
	if tag := plain(t.tag, 20); tag != "" {
		tail = "-" + tag + tail
	}
	return prefix + "-" + plain(t.element, maxName-len(prefix)-1-len(tail)) + tail
}

// plain is s in lower case with a dash for each run of other characters than
// letters and digits, cut to limit characters, without dashes at the ends.
func plain(s string, limit int) string {
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

// checkName says what is wrong with the name of an object; nil if nothing is.
func checkName(field, name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("%s %q has %d characters, at most %d are allowed", field, name, len(name), maxName)
	case !namePattern.MatchString(name):
		return fmt.Errorf("%s %q: use lower case letters, digits and dashes, with a letter first and no dash last", field, name)
	}
	return nil
}
