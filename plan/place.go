package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// digestTag is the tag of an image that its source names by digest alone, as oc
// mirror makes it.
func digestTag(d digest.Digest) string { return strings.Replace(d.String(), ":", "-", 1) }

// repository is the path in the mirror: the source's own below its host, or
// the base name of an OCI layout's folder.
func repository(source string, ref reference.Reference) string {
	if ref.Path != "" {
		return ref.Path
	}
	dir, _ := SplitLayout(source)
	return strings.ToLower(path.Base(path.Clean(strings.TrimPrefix(dir, dirScheme))))
}

// SplitLayout takes "oci://DIR", "oci://DIR:NAME" or "oci://DIR@DIGEST" apart:
// the folder of the layout and what is asked for in it, a name of its index or a
// digest. The first colon or @ ends the folder.
func SplitLayout(source string) (dir, name string) {
	dir = strings.TrimPrefix(source, ociScheme)
	if i := strings.IndexAny(dir, ":@"); i >= 0 && strings.HasPrefix(source, ociScheme) {
		return dir[:i], dir[i+1:]
	}
	return dir, ""
}

// A claim is an image that wants a tag of a repository.
type claim struct {
	resolved
	repo, tag string
}

func (c claim) explicit() bool { return c.wish.repo != "" || c.wish.tag != "" }

// name is what the image asks to be called in the mirror.
func (c claim) name() string { return c.repo + ":" + c.tag }

// weight decides who keeps a tag that several images claim: what the
// configuration sets, then what is pulled by that tag, then what carries the
// tag beside a digest and is pulled by the latter.
func (c claim) weight() int {
	switch {
	case c.explicit():
		return 0
	case c.wish.ref.Digest == "":
		return 1
	}
	return 2
}

// place decides repository and tag of every image. Where two different images
// claim one tag, the loser is still found by everybody who asks for it: by its
// digest, or in a repository of its own.
func place(all []resolved) (images []Image, notes []string, err error) {
	claims := make([]claim, 0, len(all))
	images = make([]Image, 0, len(all))
	for _, r := range all {
		if len(r.wish.tags) > 0 {
			images = append(images, r.image(r.wish.repo, r.wish.tags))
			continue
		}
		c := claim{resolved: r, repo: r.wish.repo, tag: r.wish.tag}
		if c.repo == "" {
			c.repo = repository(r.wish.source, r.wish.ref)
		}
		if !reference.IsPath(c.repo) {
			return nil, nil, &InputError{fmt.Errorf("%s: its folder's name %q cannot name a repository: set targetCatalog, or targetRepo for an image", r.wish.source, c.repo)}
		}
		if c.tag == "" {
			c.tag = r.wish.ref.Tag
		}
		if c.tag == "" && r.wish.ref == (reference.Reference{}) {
			c.tag = "latest"
		}
		if c.tag == "" {
			c.tag = digestTag(r.digest)
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(strings.Compare(a.repo, b.repo), strings.Compare(a.tag, b.tag),
			cmp.Compare(a.weight(), b.weight()), strings.Compare(a.wish.source, b.wish.source))
	})
	var winner claim // of the tag that is gone through
	for i, c := range claims {
		first := i == 0 || c.repo != winner.repo || c.tag != winner.tag
		if first {
			winner = c
		}
		switch {
		case first || c.digest == winner.digest:
		case c.explicit():
			return nil, nil, fmt.Errorf("%s and %s would both become %s: give one of them another targetRepo or targetTag",
				winner.wish.source, c.wish.source, winner.name())
		case c.wish.ref.Digest != "":
			c.tag = digestTag(c.digest)
			notes = append(notes, fmt.Sprintf("%s gets the tag %s, since %s is another image's tag in the mirror", c.wish.source, c.tag, winner.name()))
		default:
			c.repo += "-" + reference.ShortHash(c.origin())
			notes = append(notes, fmt.Sprintf("%s goes to %s:%s, since %s has %s in the mirror", c.wish.source, c.repo, c.tag, winner.wish.source, winner.name()))
		}
		images = append(images, c.image(c.repo, []string{c.tag}))
	}
	images = merge(images)
	return images, notes, checkPlaces(images)
}

// image is the image of the plan, at its place.
func (r resolved) image(repository string, tags []string) Image {
	return Image{
		Source: r.wish.source, Kind: r.wish.kind, Catalog: r.wish.catalog, Digest: r.digest,
		Repository: repository, Tags: tags, Because: r.wish.because,
	}
}

// origin tells the sources apart that a loser's repository is named after.
func (c claim) origin() string {
	if c.wish.ref == (reference.Reference{}) {
		return c.wish.source
	}
	return c.wish.ref.Name()
}

// compareImages is the order of a plan's images: by repository, so that whoever
// goes through them has one after the other, and without ties.
func compareImages(a, b Image) int {
	return cmp.Or(
		strings.Compare(a.Repository, b.Repository),
		strings.Compare(a.Source, b.Source),
		slices.Compare(a.Tags, b.Tags),
		strings.Compare(string(a.Digest), string(b.Digest)),
		cmp.Compare(b.Kind.rank(), a.Kind.rank()))
}

// merge sorts the images and makes one of those that are the same in one place:
// an image that is asked for in two roles, such as a catalog that is listed
// among additionalImages too. It has the higher role.
func merge(images []Image) []Image {
	slices.SortFunc(images, compareImages)
	if len(images) == 0 {
		return []Image{}
	}
	merged := images[:0] // no more than were gone through
	for _, img := range images {
		if n := len(merged); n > 0 {
			last := &merged[n-1]
			same := last.Repository == img.Repository && last.Source == img.Source && slices.Equal(last.Tags, img.Tags) && last.Digest == img.Digest
			if same && img.Catalog == "" {
				last.Because = slices.Concat(last.Because, img.Because)
				slices.SortFunc(last.Because, compareBecause)
				last.Because = slices.Compact(last.Because)
				continue
			}
		}
		merged = append(merged, img)
	}
	return merged
}

// checkPlaces refuses two images under one name, of which the last to be pushed
// would win.
func checkPlaces(images []Image) error {
	images = inOrder(images, func(a, b Image) int { return strings.Compare(a.Repository, b.Repository) })
	holder := map[string]*Image{} // by tag, of one repository
	for i := range images {
		img := &images[i]
		if i > 0 && img.Repository != images[i-1].Repository {
			clear(holder)
		}
		for _, tag := range img.Tags {
			if other := holder[tag]; other != nil && other.Digest != img.Digest {
				return fmt.Errorf("%s and %s would both become %s:%s: give one of them another target", other.Source, img.Source, img.Repository, tag)
			}
			holder[tag] = img
		}
	}
	return nil
}
