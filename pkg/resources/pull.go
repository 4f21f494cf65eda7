package resources

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
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
// set can lead a cluster to become notes. The second result is what is known to
// stand in the mirror under tags that somebody asks for.
func readPulls(images []Image) (pulls []pull, tags map[content]bool, notes []string, err error) {
	type key struct{ name, id string }
	refused := map[key]string{}
	pulls = make([]pull, 0, len(images))
	var last pull // images of one repository mostly follow each other
	for _, img := range images {
		if img.Kind == "" {
			continue
		}
		if !namePattern.MatchString(img.Kind) {
			return nil, nil, nil, fmt.Errorf("image %s: kind %q cannot be part of an object's name", img.Source, img.Kind)
		}
		one := pull{name: last.name, id: cmp.Or(img.Source.Identifier(), "latest"), byDigest: img.Source.Digest != ""}
		if !isName(one.name, img.Source) {
			one.name = img.Source.Name()
		}
		if reason := unreachable(img, one.id); reason != "" {
			k, note := key{one.name, one.id}, one.notFound(reason)
			if refused[k] == "" || note < refused[k] {
				refused[k] = note
			}
			continue
		}
		if one.places = last.places; len(one.places) == 0 || !isName(one.places[0], img.Mirror) {
			one.places = []string{img.Mirror.Name()}
		}
		if one.kinds = last.kinds; len(one.kinds) == 0 || one.kinds[0] != img.Kind {
			one.kinds = []string{img.Kind}
		}
		pulls, last = append(pulls, one), one
	}
	pulls = mergePulls(pulls)
	for k, note := range refused {
		_, found := slices.BinarySearchFunc(pulls, pull{name: k.name, id: k.id}, comparePulls)
		if !found { // no other copy of it is reachable either
			notes = append(notes, note)
		}
	}
	return pulls, standing(images), notes, nil
}

// isName reports whether name is that of the reference's repository.
func isName(name string, ref reference.Reference) bool {
	path, ok := strings.CutPrefix(name, ref.Host+"/")
	return ok && path == ref.Path
}

// mergePulls sorts pulls of one place and kind each, which they may share, and
// makes one of those that are the same.
func mergePulls(pulls []pull) []pull {
	slices.SortFunc(pulls, comparePulls)
	merged := pulls[:0] // no more than were gone through
	for _, p := range pulls {
		n := len(merged)
		if n == 0 || comparePulls(merged[n-1], p) != 0 {
			merged = append(merged, p)
			continue
		}
		same := &merged[n-1]
		same.places, same.kinds = insert(same.places, p.places[0]), insert(same.kinds, p.kinds[0])
	}
	return merged
}

func comparePulls(a, b pull) int {
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.id, b.id))
}

// standing is what stands in the mirror under tags that a cluster asks for.
func standing(images []Image) map[content]bool {
	asked := map[string]bool{}
	for _, img := range images {
		if img.Source.Digest == "" {
			asked[cmp.Or(img.Source.Tag, "latest")] = true
		}
	}
	tags := map[content]bool{}
	for _, img := range images {
		if asked[img.Mirror.Tag] {
			tags[content{img.Mirror.Name(), img.Mirror.Tag}] = true
		}
	}
	return tags
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
