package resources

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A CatalogName is the name that a catalog got once, and keeps: Subscriptions refer to a CatalogSource
// by it.
type CatalogName struct {
	// Source and Target are those of the catalog.
	Source string `json:"source"`
	Target string `json:"target,omitempty"`
	// Place is the repository and tag of the catalog in the mirror. Another source that is published
	// there has the same name, for example one that was pinned to a digest.
	Place string `json:"place"`
	// Name is "redhat-operator-index-v4-20" if the CatalogSource is cs-redhat-operator-index-v4-20.
	Name string `json:"name"`
}

// shownTag is how much of a tag oc mirror writes into names.
const shownTag = 12

// NameCatalogs returns catalogs with their names, and the names to save: those that were saved before,
// and those of the catalogs.
//
// A catalog keeps the name that was saved for its source and target, or else for its place in the
// mirror. Other catalogs get the name that oc mirror gives them, "redhat-operator-index-v4-20", unless
// any catalog has or had it; then a hash of the source follows. Names are therefore unique, and do not
// depend on the order of the catalogs in the configuration.
func NameCatalogs(catalogs []Catalog, saved []CatalogName) (named []Catalog, names []CatalogName, err error) {
	named, names = slices.Clone(catalogs), slices.Clone(saved)
	order := make([]int, len(named))
	owner := map[string]string{} // name -> place
	for i := range named {
		order[i] = i
	}
	elements.Sort(order, func(a, b int) int { return strings.Compare(named[a].identity(), named[b].identity()) })
	places := make([]string, len(named))
	// First those with names, so that no other catalog gets one of these.
	for _, i := range order {
		c := &named[i]
		if places[i], err = c.place(); err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, err)
		}
		at := savedName(names, c, places[i])
		if at < 0 {
			continue
		}
		c.Name = names[at].Name
		if before, used := owner[c.Name]; used && before != places[i] {
			c.Name = "" // they had one place
			continue
		}
		owner[c.Name] = places[i]
		names = keepName(names, c, places[i])
	}
	for _, i := range order {
		c := &named[i]
		if c.Name != "" {
			continue
		}
		if at := savedName(names, c, places[i]); at >= 0 && owner[names[at].Name] == places[i] {
			c.Name = names[at].Name // another source with this place got it just now
		} else if c.Name, err = c.newName(names, places[i]); err != nil {
			return nil, nil, fmt.Errorf("catalog %s: %w", c.Source, err)
		}
		owner[c.Name] = places[i]
		names = keepName(names, c, places[i])
	}
	return named, names, nil
}

// savedName returns the index of a catalog's name, or -1.
func savedName(names []CatalogName, c *Catalog, place string) int {
	i := slices.IndexFunc(names, func(n CatalogName) bool { return n.Source == c.Source && n.Target == c.Target })
	if i < 0 {
		i = slices.IndexFunc(names, func(n CatalogName) bool { return n.Place == place })
	}
	return i
}

// keepName adds or replaces the name of a catalog.
func keepName(names []CatalogName, c *Catalog, place string) []CatalogName {
	n := CatalogName{Source: c.Source, Target: c.Target, Place: place, Name: c.Name}
	i := slices.IndexFunc(names, func(have CatalogName) bool { return have.Source == c.Source && have.Target == c.Target })
	if i < 0 {
		return append(names, n)
	}
	names[i] = n
	return names
}

// newName returns a name that no catalog has.
func (c *Catalog) newName(names []CatalogName, place string) (string, error) {
	plain, err := c.plainName()
	if err != nil {
		return "", err
	}
	t, err := readTitle(*c)
	if err != nil {
		return "", err
	}
	name := plain
	for n := 0; slices.ContainsFunc(names, func(have CatalogName) bool { return have.Name == name }); n++ {
		switch n {
		case 0:
			name = t.hashedName(c.identity())
		default:
			name = t.hashedName(fmt.Sprintf("%s %s %d", c.identity(), place, n))
		}
	}
	return name, nil
}

// NamesInFiles adds the names with a hash that files of earlier runs have, for catalogs without a saved
// name. It is needed if the saved names were lost, or never saved.
func NamesInFiles(catalogs []Catalog, saved []CatalogName, files []string) ([]CatalogName, error) {
	saved = slices.Clip(saved)
	for i := range catalogs {
		n, err := catalogs[i].HashedName()
		if err != nil {
			return nil, fmt.Errorf("catalog %s: %w", catalogs[i].Source, err)
		}
		listed := slices.ContainsFunc(files, func(name string) bool { return path.Base(name) == catalogSourceFile(n.Name) })
		if listed && savedName(saved, &catalogs[i], n.Place) < 0 {
			saved = append(saved, n)
		}
	}
	return saved, nil
}

// HashedName returns the name with a hash, which versions that saved no names gave every catalog.
func (c *Catalog) HashedName() (CatalogName, error) {
	t, err := readTitle(*c)
	if err != nil {
		return CatalogName{}, err
	}
	place, err := c.place()
	return CatalogName{Source: c.Source, Target: c.Target, Place: place, Name: t.hashedName(c.identity())}, err
}

// place returns the repository of the mirror and the tag that does not depend on the catalog's
// content.
func (c *Catalog) place() (string, error) {
	tag, err := c.sourceTag()
	if err != nil {
		return "", err
	}
	if c.Mirror.Path == "" { // without a mirror
		return c.identity(), nil
	}
	return c.Mirror.Name() + ":" + tag, nil
}

// sourceTag returns the tag of the target or the source, with the digest of the source if it has
// none: "v4.20", "sha256-0123…".
func (c *Catalog) sourceTag() (string, error) {
	_, tag, _ := strings.Cut(c.Target, ":")
	if tag != "" {
		return tag, nil
	}
	if strings.Contains(c.Source, "://") {
		return "latest", nil
	}
	ref, err := reference.Parse(c.Source)
	if err != nil {
		return "", err
	}
	return cmp.Or(ref.Tag, strings.Replace(ref.Digest.String(), ":", "-", 1), "latest"), nil
}

// plainName returns the name that oc mirror gives a catalog: the last element of its path in the
// mirror, a dash, and the first twelve characters of its tag, with a dash for each character that a
// name cannot have.
func (c *Catalog) plainName() (string, error) {
	t, err := readTitle(*c)
	if err != nil {
		return "", err
	}
	element := t.element
	// A registry that limits path components has "org-index" for org/index.
	if joined := path.Base(c.Mirror.Path); strings.HasSuffix(joined, "-"+element) {
		element = joined
	}
	tag, err := c.sourceTag()
	if err != nil {
		return "", err
	}
	tail := dashed(tag[:min(len(tag), shownTag)])
	if tail != "" {
		tail = "-" + tail
	}
	element = dashed(element)
	if limit := maxName - len(sourcePrefix) - len(tail); len(element) > limit {
		element = strings.TrimRight(element[:limit], "-")
	}
	return element + tail, nil
}

// dashed returns s in lower case with a dash for each character other than letters, digits and
// dashes, without dashes at the ends.
func dashed(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s)), "-")
}

// catalogSourceFile returns the file with the CatalogSource of the catalog with a name.
func catalogSourceFile(name string) string { return sourcePrefix + name + ".yaml" }

// CatalogSourceName returns the namespace and name of the CatalogSource that Build writes for a
// catalog with a name, as in "openshift-marketplace/cs-index-v4-18". Values in the template take
// precedence. It fails if the template is invalid.
func (c Catalog) CatalogSourceName() (string, error) {
	from, err := readSourceTemplate(c.Template)
	if err != nil {
		return "", fmt.Errorf("catalog %s: %w", c.Source, inTemplate(c, err))
	}
	return from.id(sourcePrefix + c.Name), nil
}

// inTemplate adds the template's file to an error.
func inTemplate(c Catalog, err error) error {
	if c.Template == nil {
		return err
	}
	return fmt.Errorf("reading targetCatalogSourceTemplate %s: %w", c.TemplateName, err)
}

// id returns the namespace/name of the CatalogSource. name is used if the template sets none.
func (t *sourceTemplate) id(name string) string {
	return cmp.Or(t.namespace, marketplace) + "/" + cmp.Or(t.name, name)
}
