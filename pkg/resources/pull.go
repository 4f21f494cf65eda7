package resources

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// locationPattern is the CRDs' pattern for the sources and mirrors of mirror sets, without wildcard
// sources, which Gantry does not write.
var locationPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$`)
})

// A pull is one image that a cluster requests, and the repositories of the mirror that have it.
type pull struct {
	name     string // repository with host
	id       string // digest or tag
	byDigest bool
	mirrors  []string // repositories of the mirror, sorted
	kinds    []string // sorted
}

// notFound returns the note that a cluster will not find p in the mirror.
func (p pull) notFound(reason string) string {
	separator := ":"
	if p.byDigest {
		separator = "@"
	}
	return fmt.Sprintf("the cluster will not find %s%s%s in the mirror: %s", p.name, separator, p.id, reason)
}

// A tagName is a repository of the mirror and a tag in it.
type tagName struct{ name, tag string }

// readPulls returns the pulls of images, sorted and without duplicates. Images that no mirror set
// can redirect become notes. The second result contains the tags of the mirror that a cluster may
// request.
func readPulls(images []Image) (pulls []pull, tags map[tagName]bool, notes []string, err error) {
	type key struct{ name, id string }
	refused := map[key]string{}
	pulls = make([]pull, 0, len(images))
	var last pull // images of one repository mostly follow each other
	for _, img := range images {
		if img.Kind == "" {
			continue
		}
		if !namePattern().MatchString(img.Kind) {
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
		if one.mirrors = last.mirrors; len(one.mirrors) == 0 || !isName(one.mirrors[0], img.Mirror) {
			one.mirrors = []string{img.Mirror.Name()}
		}
		if one.kinds = last.kinds; len(one.kinds) == 0 || one.kinds[0] != img.Kind {
			one.kinds = []string{img.Kind}
		}
		pulls, last = append(pulls, one), one
	}
	pulls = mergePulls(pulls)
	for k, note := range refused {
		_, found := slices.BinarySearchFunc(pulls, pull{name: k.name, id: k.id}, comparePulls)
		if !found { // no other copy of it is reachable
			notes = append(notes, note)
		}
	}
	return pulls, requestedTags(images), notes, nil
}

// isName reports whether name is the name of the reference's repository.
func isName(name string, ref reference.Reference) bool {
	path, ok := strings.CutPrefix(name, ref.Host+"/")
	return ok && path == ref.Path
}

// mergePulls sorts pulls, which have one mirror repository and one kind each and may share these
// slices, and merges those with the same name and identifier.
func mergePulls(pulls []pull) []pull {
	elements.Sort(pulls, comparePulls)
	merged := pulls[:0] // never overtakes the loop
	for _, p := range pulls {
		n := len(merged)
		if n == 0 || comparePulls(merged[n-1], p) != 0 {
			merged = append(merged, p)
			continue
		}
		same := &merged[n-1]
		same.mirrors, same.kinds = insert(same.mirrors, p.mirrors[0]), insert(same.kinds, p.kinds[0])
	}
	return merged
}

func comparePulls(a, b pull) int {
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.id, b.id))
}

// requestedTags returns the tags in the mirror whose name some image is pulled by.
func requestedTags(images []Image) map[tagName]bool {
	requested := map[string]bool{}
	for _, img := range images {
		if img.Source.Digest == "" {
			requested[cmp.Or(img.Source.Tag, "latest")] = true
		}
	}
	tags := map[tagName]bool{}
	for _, img := range images {
		if requested[img.Mirror.Tag] {
			tags[tagName{img.Mirror.Name(), img.Mirror.Tag}] = true
		}
	}
	return tags
}

// unreachable returns why no mirror set can redirect a pull of id to img.Mirror; "" if one can. A
// mirror set replaces a prefix of the repository's name; it cannot change the tag or digest.
func unreachable(img Image, id string) string {
	source, mirror := img.Source.Name(), img.Mirror.Name()
	switch {
	case !locationPattern().MatchString(source):
		return fmt.Sprintf("%s cannot be the source of a mirror set; change the reference or the name of its registry", source)
	case !locationPattern().MatchString(mirror):
		return fmt.Sprintf("%s is not valid in a mirror set; give the mirror a host name", mirror)
	case img.Source.Digest != "" && img.Mirror.Digest != "" && img.Mirror.Digest != img.Source.Digest:
		return fmt.Sprintf("its digest there is %s; refer to it by that digest", img.Mirror.Digest)
	case img.Source.Digest == "" && img.Mirror.Tag == "":
		return fmt.Sprintf("it has no tag in %s", mirror)
	case img.Source.Digest == "" && img.Mirror.Tag != id:
		return fmt.Sprintf("its tag there is %s, and a mirror set cannot change tags; use %s:%s instead", img.Mirror.Tag, mirror, img.Mirror.Tag)
	}
	return ""
}

// insert adds v to a sorted list unless it is already present.
func insert(list []string, v string) []string {
	i, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(list, i, v)
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
