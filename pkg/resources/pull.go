package resources

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// locationPattern is what the CRDs of the mirror sets ask of a source and of a
// mirror (without the wildcard sources, which Gantry does not write).
var locationPattern = regexp.MustCompile(`^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$`)

// A pull is one thing that a cluster asks for, and where it may find it.
type pull struct {
	name     string // repository with host
	id       string // digest or tag
	byDigest bool
	places   []string // repositories of the mirror, sorted
	kinds    []string // sorted
}

// notFound is the note that a cluster will not find p in the mirror.
func (p pull) notFound(reason string) string {
	separator := ":"
	if p.byDigest {
		separator = "@"
	}
	return fmt.Sprintf("the cluster will not find %s%s%s in the mirror: %s", p.name, separator, p.id, reason)
}

// A content is something that stands in the mirror: a repository and a tag.
type content struct{ name, tag string }

// readPulls turns images into pulls, each once, sorted. Images that no mirror
// set can lead a cluster to become notes. The second result is every tag that
// is known to stand in the mirror.
func readPulls(images []Image) (pulls []pull, tags map[content]bool, notes []string, err error) {
	type key struct{ name, id string }
	merged := map[key]*pull{}
	refused := map[key]string{}
	tags = map[content]bool{}
	for _, img := range images {
		if !namePattern.MatchString(img.Kind) {
			return nil, nil, nil, fmt.Errorf("image %s: kind %q cannot be part of an object's name", img.Source, img.Kind)
		}
		if img.Mirror.Tag != "" {
			tags[content{img.Mirror.Name(), img.Mirror.Tag}] = true
		}
		one := pull{name: img.Source.Name(), id: cmp.Or(img.Source.Identifier(), "latest"), byDigest: img.Source.Digest != ""}
		k := key{one.name, one.id}
		if reason := unreachable(img, k.id); reason != "" {
			note := one.notFound(reason)
			if refused[k] == "" || note < refused[k] {
				refused[k] = note
			}
			continue
		}
		p := merged[k]
		if p == nil {
			p = &one
			merged[k] = p
		}
		p.places = insert(p.places, img.Mirror.Name())
		p.kinds = insert(p.kinds, img.Kind)
	}
	for k, note := range refused {
		if merged[k] == nil { // no other copy of it is reachable either
			notes = append(notes, note)
		}
	}
	for _, p := range merged {
		pulls = append(pulls, *p)
	}
	slices.SortFunc(pulls, func(a, b pull) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.id, b.id))
	})
	return pulls, tags, notes, nil
}

// unreachable says why no mirror set can lead a pull of id to img.Mirror; it is
// empty where one can. A mirror set replaces the front of a repository's name;
// it cannot change tag or digest.
func unreachable(img Image, id string) string {
	source, mirror := img.Source.Name(), img.Mirror.Name()
	switch {
	case !locationPattern.MatchString(source):
		return fmt.Sprintf("%s cannot be the source of a mirror set; change the reference or the name of its registry", source)
	case !locationPattern.MatchString(mirror):
		return fmt.Sprintf("%s cannot be written into a mirror set; give the mirror a host name", mirror)
	case img.Source.Digest != "" && img.Mirror.Digest != "" && img.Mirror.Digest != img.Source.Digest:
		return fmt.Sprintf("it stands there with digest %s; refer to it by that digest", img.Mirror.Digest)
	case img.Source.Digest == "" && img.Mirror.Tag == "":
		return fmt.Sprintf("it stands in %s without a tag", mirror)
	case img.Source.Digest == "" && img.Mirror.Tag != id:
		return fmt.Sprintf("its tag there is %s, and a mirror set cannot change tags; use %s:%s in its place", img.Mirror.Tag, mirror, img.Mirror.Tag)
	}
	return ""
}

// insert adds v to a sorted list unless it is there.
func insert(list []string, v string) []string {
	i, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(list, i, v)
}

// sortedKeys is the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
