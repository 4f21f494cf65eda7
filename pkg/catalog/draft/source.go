package draft

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Where the catalogs of OperatorHub come from.
const (
	redHat      = "registry.redhat.io"
	redHatPath  = "redhat/"
	indexSuffix = "-operator-index"
)

// redHatIndexes returns the last path elements of Red Hat's catalogs.
func redHatIndexes() []string {
	return []string{"redhat" + indexSuffix, "certified" + indexSuffix, "community" + indexSuffix, "redhat-marketplace-index"}
}

// inName is the tag in the name of an object of a mirrored catalog: "cs-redhat-operator-index-v4-20".
var inName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-v([0-9]+)-([0-9]+)(-[0-9a-f]{8})?$`) })

// sourceOf returns the catalog that a configuration has to name so that the mirror serves what the
// image of c serves. why is a sentence if that was concluded rather than read, or if it is unknown: then
// the reference is "".
func (d *drafter) sourceOf(c installed.Catalog) (ref, why string) {
	for _, name := range []string{c.Title(), c.Name} {
		if given := d.given(name); given != "" {
			return given, ""
		}
	}
	image, err := reference.Parse(c.Image)
	if err != nil {
		return "", fmt.Sprintf("its image %s is not a reference", c.Image)
	}
	source, mirrored := d.unmirror(image)
	element := path.Base(source.Path)
	if slices.Contains(redHatIndexes(), element) && source.Host != redHat {
		switch {
		case d.hasPath(c, image, redHatPath+element):
			source.Host, source.Path, mirrored = redHat, redHatPath+element, true
		case !mirrored:
			return "", fmt.Sprintf("its image %s has the name of a catalog of Red Hat, and nothing says that it is from there", c.Image)
		}
	}
	isIndex := source.Host == redHat && source.Path == redHatPath+element
	if source.Tag == "" {
		source.Tag = d.tagOf(c, element, isIndex)
	}
	switch {
	case source.Tag == "" && mirrored:
		// The digest of a catalog that was rebuilt for a mirror is unknown at its source.
		return "", fmt.Sprintf("its image %s has no tag", c.Image)
	case source.Tag != "":
		source.Digest = ""
	}
	if !mirrored && (image.Host == source.Host && d.isMirror(image.Host)) {
		return "", fmt.Sprintf("its image %s is at a mirror, and no mirror set says where it comes from", c.Image)
	}
	if source != image {
		why = fmt.Sprintf("The cluster uses it as %s.", c.Image)
	}
	return source.String(), why
}

// unmirror returns the name by which an image of a mirror is pulled, according to the mirror sets. The
// rule with the longest mirror applies.
func (d *drafter) unmirror(image reference.Reference) (source reference.Reference, mirrored bool) {
	longest := ""
	source = image
	for _, rule := range d.cluster.Mirrors {
		for _, m := range rule.Mirrors {
			rest, ok := strings.CutPrefix(image.Name()+"/", strings.TrimSuffix(m, "/")+"/")
			if !ok || len(m) <= len(longest) {
				continue
			}
			name := strings.TrimSuffix(rule.Source+"/"+rest, "/")
			at, err := reference.Parse(name)
			if err != nil {
				continue
			}
			longest = m
			source, mirrored = reference.Reference{Host: at.Host, Path: at.Path, Tag: image.Tag, Digest: image.Digest}, true
		}
	}
	return source, mirrored
}

// hasPath reports whether an image of a mirror has a path below the prefix of the mirror. Mirrors keep the path of the
// source there. The prefix is what a mirror set adds to the path of its source, or what FromMirror was given.
func (d *drafter) hasPath(c installed.Catalog, image reference.Reference, below string) bool {
	if d.mirror != "" {
		return c.Name == below
	}
	for _, rule := range d.cluster.Mirrors {
		_, kept, nested := strings.Cut(rule.Source, "/")
		for _, m := range rule.Mirrors {
			prefix, ok := strings.TrimSuffix(m, "/"), true
			if nested {
				prefix, ok = strings.CutSuffix(prefix, "/"+kept)
			}
			if ok && image.Name() == prefix+"/"+below {
				return true
			}
		}
	}
	return false
}

// isMirror reports whether the host is a mirror: mirror sets redirect pulls to it.
func (d *drafter) isMirror(host string) bool {
	for _, rule := range d.cluster.Mirrors {
		if slices.ContainsFunc(rule.Mirrors, func(m string) bool { return strings.HasPrefix(m+"/", host+"/") }) {
			return true
		}
	}
	return host == d.mirror
}

// tagOf concludes the tag of a catalog whose image is referenced by digest: from its display name or
// its name, as tools for mirroring write them. Red Hat's catalogs have one tag per minor release of the
// platform.
func (d *drafter) tagOf(c installed.Catalog, element string, isIndex bool) string {
	if tag, ok := strings.CutPrefix(c.DisplayName, element+" "); ok && reference.IsTag(tag) {
		return tag
	}
	if m := inName().FindStringSubmatch(c.Name); m != nil {
		return "v" + m[1] + "." + m[2]
	}
	if isIndex && len(d.minors) == 1 {
		return "v" + d.minors[0]
	}
	return ""
}
