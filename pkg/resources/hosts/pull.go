package hosts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A pull is an image that a runtime requests, and the repositories of the mirror that have it.
type pull struct {
	host, path string // the repository: "quay.io", "org/name"
	id         string // tag or digest
	byDigest   bool
	mirrors    []string // sorted, without host
	platform   bool     // only platform releases contain it, which no other cluster runs
}

func (p pull) String() string {
	if p.byDigest {
		return p.host + "/" + p.path + "@" + p.id
	}
	return p.host + "/" + p.path + ":" + p.id
}

// readPulls returns the pulls that can be redirected to the mirror, sorted. No runtime can change a tag or
// digest; package resources notes images with another one in the mirror.
func readPulls(in Input) []pull {
	var pulls []pull
	for _, img := range in.Images {
		source, mirror := img.Source, img.Mirror
		p := pull{
			host: source.Host, path: source.Path, id: cmp.Or(source.Identifier(), "latest"), byDigest: source.Digest != "",
			mirrors: []string{mirror.Path}, platform: img.Kind == "release",
		}
		switch {
		case img.Kind == "", mirror.Host != in.Host, source.Repository() == mirror.Repository():
		case p.byDigest && mirror.Digest != "" && mirror.Digest != source.Digest:
		case !p.byDigest && mirror.Tag != p.id:
		default:
			pulls = append(pulls, p)
		}
	}
	compare := func(a, b pull) int {
		return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.path, b.path), strings.Compare(a.id, b.id))
	}
	elements.Sort(pulls, compare)
	merged := pulls[:0] // never overtakes the loop
	for _, p := range pulls {
		if n := len(merged); n > 0 && compare(merged[n-1], p) == 0 {
			same := &merged[n-1]
			same.mirrors = slices.Compact(slices.Sorted(slices.Values(append(same.mirrors, p.mirrors...))))
			same.platform = same.platform && p.platform
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// A stock is the content of the mirror: each "REPOSITORY:TAG" and each "REPOSITORY@DIGEST".
type stock map[string]bool

func stockOf(in Input) stock {
	s := stock{}
	for _, img := range in.Images {
		if img.Mirror.Tag != "" {
			s[img.Mirror.Path+":"+img.Mirror.Tag] = true
		}
		if d := cmp.Or(img.Mirror.Digest, img.Source.Digest); d != "" {
			s[img.Mirror.Path+"@"+d.String()] = true
		}
	}
	return s
}

// lookUp tries repositories of the mirror in order. It returns the problem, or "" if the first one that has
// what p requests has the image.
func (p pull) lookUp(repositories []string, s stock) string {
	for _, name := range repositories {
		switch {
		case slices.Contains(p.mirrors, name), p.byDigest && s[name+"@"+p.id]:
			return ""
		case !p.byDigest && s[name+":"+p.id]:
			return name + ":" + p.id + " is tried first and is another image"
		}
	}
	if len(repositories) == 0 {
		return "it is not redirected"
	}
	return "it is redirected to " + strings.Join(repositories, ", ")
}

// target returns the repository of the mirror with the most of the pulls, all of one repository.
func target(pulls []pull) string {
	count := map[string]int{}
	best := ""
	for _, p := range pulls {
		for _, mirror := range p.mirrors {
			count[mirror]++
		}
	}
	for mirror, n := range count {
		if best == "" || n > count[best] || n == count[best] && mirror < best {
			best = mirror
		}
	}
	return best
}

// kept returns what the name of a repository in the mirror adds before its name in the source, "ocp/", and
// whether the rest is the same.
func kept(path, mirror string) (prefix string, ok bool) {
	prefix, ok = strings.CutSuffix(mirror, path)
	return prefix, ok && (prefix == "" || strings.HasSuffix(prefix, "/"))
}
