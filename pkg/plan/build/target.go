package build

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// repository returns the default repository in the mirror: the path of the source below its host,
// or the base name of the folder of an OCI layout.
func repository(source string, ref reference.Reference) string {
	if ref.Path != "" {
		return ref.Path
	}
	dir, _ := plan.SplitLayout(source)
	return strings.ToLower(path.Base(path.Clean(strings.TrimPrefix(dir, dirScheme))))
}

// A target is the repository and tag that an image gets in the mirror.
type target struct {
	*resolvedImage
	repo, tag  string
	precedence int
	reserved   string // the tag that was requested and that no image gets; "" if none
}

// isConfigured reports whether the configuration sets the repository or the tag.
func (t target) isConfigured() bool { return t.request.repo != "" || t.request.tag != "" }

func (t target) name() string { return t.repo + ":" + t.tag }

// precedenceOf orders the images that compete for one tag, the winner first: those with a configured target, then those that
// are pulled by the tag, then those that have the tag beside a digest, by which they are pulled.
func (t target) precedenceOf(ref reference.Reference) int {
	switch {
	case t.isConfigured():
		return 0
	case ref.Digest == "":
		return 1
	}
	return 2
}

// targetOf returns the preferred target of an image.
func targetOf(r *resolvedImage) (target, error) {
	w, ref := r.request, r.request.ref()
	t := target{resolvedImage: r, repo: cmp.Or(w.repo, repository(w.source, ref)), tag: w.tag}
	t.precedence = t.precedenceOf(ref)
	if !reference.IsPath(t.repo) {
		return t, advice.New(advice.Input, "set targetCatalog, or targetRepo for an image", "%s: the name of its folder, %q, is not a valid repository name", w.source, t.repo)
	}
	t.tag = cmp.Or(t.tag, ref.Tag)
	if t.tag == "" && ref == (reference.Reference{}) {
		t.tag = "latest"
	}
	if t.tag == "" || plan.IsReferrersTag(t.tag) {
		t.reserved = t.tag
		t.tag = plan.DigestTag(r.digest)
	}
	return t, nil
}

// note returns a note on the tag that was requested, or configured, and that the image does not get; "" if
// there is none. That of its own digest is the one that oc mirror and earlier versions gave to images.
func (t target) note() string {
	if t.reserved == "" || t.reserved == plan.ReferrersTag(t.digest) {
		return ""
	}
	return fmt.Sprintf("%s gets the tag %s, because registries list referrers under %s", t.request.source, t.tag, t.reserved)
}

// assignTargets assigns repository and tags to every image. If two different images compete for one tag, the other one gets a
// tag made of its digest or a repository of its own, so that clusters still find it.
func assignTargets(all []resolvedImage) (images []plan.Image, notes []string, err error) {
	targets := make([]target, 0, len(all))
	images = make([]plan.Image, 0, len(all))
	for i := range all {
		r := &all[i]
		if len(r.request.tags) > 0 {
			images = append(images, r.image(r.request.repo, r.request.tags))
			continue
		}
		t, err := targetOf(r)
		if err != nil {
			return nil, nil, err
		}
		if note := t.note(); note != "" {
			notes = append(notes, note)
		}
		targets = append(targets, t)
	}
	elements.Sort(targets, func(a, b target) int {
		return cmp.Or(strings.Compare(a.repo, b.repo), strings.Compare(a.tag, b.tag),
			cmp.Compare(a.precedence, b.precedence), strings.Compare(a.request.source, b.request.source))
	})
	var winner target // of the current tag
	for i, t := range targets {
		first := i == 0 || t.repo != winner.repo || t.tag != winner.tag
		if first {
			winner = t
		}
		switch {
		case first || t.digest == winner.digest:
		case t.isConfigured():
			return nil, nil, advice.New(advice.Input, "give one of them another targetRepo or targetTag", "%s and %s would both become %s",
				winner.request.source, t.request.source, winner.name())
		case t.request.ref().Digest != "":
			t.tag = plan.DigestTag(t.digest)
			notes = append(notes, fmt.Sprintf("%s gets the tag %s, because %s is another image in the mirror", t.request.source, t.tag, winner.name()))
		default:
			t.repo += "-" + reference.ShortHash(t.origin())
			notes = append(notes, fmt.Sprintf("%s becomes %s:%s, because %s becomes %s", t.request.source, t.repo, t.tag, winner.request.source, winner.name()))
		}
		images = append(images, t.image(t.repo, []string{t.tag}))
	}
	images = merge(images)
	return images, notes, plan.CheckTags(images)
}

// image returns the image of the plan.
func (r *resolvedImage) image(repository string, tags []string) plan.Image {
	return plan.Image{
		Source: r.request.source, Kind: r.request.kind, Catalog: r.request.catalog, Digest: r.digest,
		Repository: repository, Tags: tags, Reasons: r.request.reasons,
		RewrittenFrom: r.rewrittenFrom, NotRewritten: r.notRewritten, NamedBy: r.namedBy,
	}
}

// origin is the name of the source that a repository of its own is derived from.
func (t target) origin() string {
	if ref := t.request.ref(); ref != (reference.Reference{}) {
		return ref.Name()
	}
	return t.request.source
}

// merge sorts the images, and joins those with equal source, target and digest: an image that is requested in two roles, such
// as a catalog that additionalImages lists too. The result has the kind with the higher rank.
func merge(images []plan.Image) []plan.Image {
	elements.Sort(images, plan.CompareImages)
	if len(images) == 0 {
		return []plan.Image{}
	}
	merged := images[:0] // in place: at most as many as were read
	for _, img := range images {
		if n := len(merged); n > 0 {
			last := &merged[n-1]
			same := last.Repository == img.Repository && last.Source == img.Source && slices.Equal(last.Tags, img.Tags) && last.Digest == img.Digest
			if same && img.Catalog == "" {
				last.Reasons = slices.Concat(last.Reasons, img.Reasons)
				elements.Sort(last.Reasons, plan.CompareReasons)
				last.Reasons = slices.Compact(last.Reasons)
				continue
			}
		}
		merged = append(merged, img)
	}
	return merged
}
