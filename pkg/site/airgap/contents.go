package airgap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A NamePattern matches whole names. * stands for any characters, slashes included, and ? for one
// character. A NamePattern without patterns matches everything.
type NamePattern struct{ patterns []*regexp.Regexp }

// NewNamePattern returns a NamePattern that matches what one of the patterns matches.
func NewNamePattern(patterns ...string) NamePattern {
	var n NamePattern
	for _, p := range patterns {
		p = regexp.QuoteMeta(p)
		p = strings.ReplaceAll(p, `\*`, `.*`)
		p = strings.ReplaceAll(p, `\?`, `.`)
		n.patterns = append(n.patterns, regexp.MustCompile(`^(?s:`+p+`)$`)) // always valid: it was quoted
	}
	return n
}

// Match reports whether one of the names matches.
func (n NamePattern) Match(names ...string) bool {
	return len(n.patterns) == 0 || slices.ContainsFunc(n.patterns, func(p *regexp.Regexp) bool {
		return slices.ContainsFunc(names, p.MatchString)
	})
}

// imageNames returns the names of an image: its references in the mirror, with and without tag, its
// digest and its source.
func imageNames(img *plan.Image) []string {
	names := []string{img.Repository, string(img.Digest), img.Repository + "@" + string(img.Digest), img.Source}
	for _, tag := range img.Tags {
		names = append(names, img.Repository+":"+tag)
	}
	return names
}

// PickImages returns the part of a plan that has the images that patterns match, with their signatures
// and other referrers, or all images if there are no patterns. A pattern that matches a name with a tag selects the image with that tag
// only. A pattern that matches no image is an error of kind Input.
func PickImages(p *plan.Plan, patterns []string) (*plan.Plan, error) {
	if len(patterns) == 0 {
		return p.OnlyImages(p.Images)
	}
	for _, pattern := range patterns {
		if err := matchesAny(p, pattern); err != nil {
			return nil, err
		}
	}
	all := NewNamePattern(patterns...)
	var picked []plan.Image
	for _, img := range p.Images {
		tags := elements.Filter(img.Tags, func(tag string) bool { return all.Match(img.Repository + ":" + tag) })
		untagged := img
		untagged.Tags = nil
		switch {
		case all.Match(imageNames(&untagged)...):
			picked = append(picked, img)
		case len(tags) > 0:
			img.Tags = tags
			picked = append(picked, img)
		}
	}
	picked, err := p.WithAttached(picked)
	if err != nil {
		return nil, err
	}
	return p.OnlyImages(picked)
}

// matchesAny returns an error if a pattern matches no image of a plan.
func matchesAny(p *plan.Plan, pattern string) error {
	one := NewNamePattern(pattern)
	if slices.ContainsFunc(p.Images, func(img plan.Image) bool { return one.Match(imageNames(&img)...) }) {
		return nil
	}
	var names []string
	for i := range p.Images {
		for _, tag := range p.Images[i].Tags {
			names = append(names, p.Images[i].Repository+":"+tag)
		}
	}
	return advice.New(advice.Input, cmp.Or(suggest.Phrase(pattern, names), "gantry archive list shows its images"), "the archive has no image %q", pattern)
}

// An Availability is whether the content of an image can be read from the folders of an archive.
type Availability string

// The availabilities. The values are those of the JSON of gantry archive list.
const (
	Available   Availability = "yes"
	InEarlier   Availability = "earlier" // some of it is in an earlier archive, whose folder is not known
	Unavailable Availability = "no"      // volumes are missing or damaged
)

// CheckImage returns the availability of an image of a plan. It looks at the entries of the archive
// and reads no content. contents are those of the plan.
func CheckImage(have *archive.Archive, contents *plan.Contents, img *plan.Image) Availability {
	partial, result := MissingEarlierSets(have) != nil, Available
	look := func(d digest.Digest, size int64) {
		desc := ocispec.Descriptor{Digest: d, Size: size}
		err := have.CheckContent(desc)
		if err == nil {
			err = missingBases(have, desc)
		}
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && partial:
			if result == Available {
				result = InEarlier
			}
		default:
			result = Unavailable
		}
	}
	_ = contents.Walk(img.Digest, // the plan has been checked
		func(m *plan.Manifest) error { look(m.Digest, m.Size); return nil },
		func(b plan.Blob) error { look(b.Digest, b.Size); return nil })
	return result
}

// OpenContent opens a manifest, a blob or the plan of an archive by its digest, and returns its size
// in bytes. The reader returns an error instead of io.EOF if the content is damaged. A digest that
// the archive does not have is an error of kind Input.
func OpenContent(ctx context.Context, have *archive.Archive, d digest.Digest) (body io.ReadCloser, size int64, err error) {
	for e := range have.Entries() {
		if e.Digest == d && e.IsContent {
			body, err = have.Blob(ctx, "", ocispec.Descriptor{Digest: d, Size: e.ContentSize}, 0)
			return body, e.ContentSize, err
		}
	}
	if delta := have.DeltaOf(d); delta != nil {
		body, err = have.Blob(ctx, "", delta.Descriptor(), 0)
		return body, delta.Size, err
	}
	if d == have.PlanDigest() {
		if body, size, err = openPlan(ctx, have); !errors.Is(err, fs.ErrNotExist) {
			return body, size, err
		}
	}
	hint := "gantry archive list --blobs shows its content"
	if MissingEarlierSets(have) != nil {
		hint = "it may be in an earlier archive: name the folder of that archive, too"
	}
	return nil, 0, advice.New(advice.Input, hint, "the archive has no %s", d)
}

// openPlan opens the plan. It is compressed, so it is read once to learn its size.
func openPlan(ctx context.Context, have *archive.Archive) (body io.ReadCloser, size int64, err error) {
	if body, err = have.OpenPlan(ctx); err != nil {
		return nil, 0, err
	}
	size, err = io.Copy(io.Discard, body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, 0, err
	}
	body, err = have.OpenPlan(ctx)
	return body, size, err
}

// OpenedPlan reads the plan of an archive that was opened for inspection. If the plan is in an
// earlier archive that is not among the folders, the error is of kind Input and names it.
func OpenedPlan(ctx context.Context, have *archive.Archive) (*plan.Plan, error) {
	p, err := ReadPlan(ctx, have)
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	var names []string
	for _, s := range have.Sets() {
		if s.Dir == "" {
			names = append(names, strings.TrimSuffix(s.Manifest, ".json"))
		}
	}
	return nil, advice.Wrap(advice.Input, err, "name the folder of "+strings.Join(names, ", ")+", too")
}
