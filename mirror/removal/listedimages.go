package removal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// listedImages are the images of a list that are deleted from a mirror.
type listedImages struct {
	name    string // the only image set that loses content, "" for all
	removes map[string]*deletion.Choice
	items   []deletion.Item
	places  map[imagePlace]bool
	// choices are what the current plans lose, by image set.
	choices map[string]*deletion.Choice
	// smaller are plans without what is listed that a dry run did not record, by image set.
	smaller map[string]*plan.Plan
	// wanted has why a listed image of a current plan stays, and named a better reason for some.
	wanted, named map[imagePlace]string
	// affected are images of which a current plan loses a reason.
	affected map[imagePlace]bool
}

// readListedImages reads a list for a mirror.
func readListedImages(e *env.Env, o *DeleteOptions, t *site.RegistryDestination) (*listedImages, error) {
	text, _, err := regular.ReadInput(o.DeleteYAMLFile, deletion.MaxFile)
	if err != nil {
		return nil, advice.Wrap(advice.Input, fmt.Errorf("reading the list: %w", err), "")
	}
	f, err := deletion.ParseFile(text)
	if err != nil {
		return nil, fmt.Errorf("reading the list %s: %w", o.DeleteYAMLFile, err)
	}
	if f.Edited {
		e.Noticef("the list was changed after it was written: the bundles, releases, charts and images that are still listed are removed")
	}
	of := strings.TrimPrefix(t.String(), env.RegistryScheme)
	if o.ListMirror != "" {
		of = strings.TrimSuffix(strings.TrimPrefix(o.ListMirror, env.RegistryScheme), "/")
	}
	for i := range f.Items {
		ref := &f.Items[i].Image
		rest, below := strings.CutPrefix(ref.Name(), of+"/")
		if !below {
			return nil, env.InputHint("use the list of this mirror; if this is that mirror by another name, set Options.ListMirror to the name in the list",
				"the list %s is for another mirror than %s: it has %s", o.DeleteYAMLFile, t, ref)
		}
		ref.Host, ref.Path = t.Host, strings.TrimPrefix(t.Prefix+"/"+rest, "/")
	}
	return &listedImages{name: o.Name, removes: f.Removes, items: f.Items, places: map[imagePlace]bool{}, choices: map[string]*deletion.Choice{}, smaller: map[string]*plan.Plan{}, wanted: map[imagePlace]string{}, named: map[imagePlace]string{}, affected: map[imagePlace]bool{}}, nil
}

// resolve asks the mirror which images are under the tags of a list that has no digests.
func (l *listedImages) resolve(ctx context.Context, t *site.RegistryDestination) error {
	registry := &prune.Registry{Client: t.Client, Host: t.Host}
	g, resolving := errgroup.WithContext(ctx)
	g.SetLimit(max(t.Streams, 1))
	for i := range l.items {
		item := &l.items[i]
		if item.Digest != "" {
			continue
		}
		g.Go(func() (err error) {
			identifier := item.Image.Tag
			if hex, ok := strings.CutPrefix(identifier, "sha256-"); ok && plan.IsReferrersTag(identifier) {
				identifier = digest.NewDigestFromEncoded(digest.SHA256, hex).String() // the image; the tag may name the list of its referrers
			}
			item.Digest, err = registry.Resolve(resolving, item.Image.Path, identifier)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range l.items {
		l.add(&l.items[i])
	}
	return ctx.Err()
}

func (l *listedImages) add(item *deletion.Item) {
	if item.Digest != "" {
		l.places[imagePlace{item.Image.Path, item.Digest}] = true
	}
}

// resolveIn sets the digests of listed tags that the mirror no longer has and that a plan has.
func (l *listedImages) resolveIn(p *plan.Plan, names map[string]reference.Reference) {
	tags := map[string]*plan.Image{}
	for i := range p.Images {
		for _, tag := range p.Images[i].Tags {
			tags[names[p.Images[i].Repository].WithTag(tag).String()] = &p.Images[i]
			if d := p.Images[i].Digest; plan.IsDigestTag(tag, d) { // as lists of earlier versions and of oc mirror have it
				tags[names[p.Images[i].Repository].WithTag(plan.ReferrersTag(d)).String()] = &p.Images[i]
			}
		}
	}
	for i := range l.items {
		item := &l.items[i]
		if img := tags[item.Image.String()]; item.Digest == "" && img != nil {
			item.Digest = img.Digest
			l.add(item)
		}
	}
}

// hasIn returns a function that reports whether the list has an image of a plan.
func (l *listedImages) hasIn(names map[string]reference.Reference) func(*plan.Image) bool {
	return func(img *plan.Image) bool { return l.places[imagePlace{names[img.Repository].Path, img.Digest}] }
}

// begin forgets what an earlier reading of the records found.
func (l *listedImages) begin() {
	if l != nil {
		clear(l.choices)
		clear(l.wanted)
	}
}

// notRecorded returns the plan of an image set without what is listed, if a dry run did not record it.
func (l *listedImages) notRecorded(set string) *plan.Plan {
	if l == nil {
		return nil
	}
	return l.smaller[set]
}

// addCurrent adds the current plan of an image set.
func (l *listedImages) addCurrent(set string, p *plan.Plan, names map[string]reference.Reference) {
	l.resolveIn(p, names)
	has := l.hasIn(names)
	if l.name == "" || l.name == set {
		choice := l.removes[set]
		if l.removes == nil {
			choice = deletion.Listed(p, has)
		}
		if choice != nil && choice.Touches(p) {
			l.choices[set] = choice.Clone()
		}
	}
	for i := range p.Images {
		img := &p.Images[i]
		if place := (imagePlace{names[img.Repository].Path, img.Digest}); has(img) && l.wanted[place] == "" {
			because := "the image set " + set + " needs it"
			if len(img.Reasons) > 0 {
				because += ": " + deletion.Describe(img, &img.Reasons[0])
			}
			l.wanted[place] = because
		}
	}
}

// stays returns which images of an earlier plan are not deleted now: those that are not listed, what belongs to
// them, and those for which needed, if it is not nil, returns true.
func (l *listedImages) stays(p *plan.Plan, names map[string]reference.Reference, needed func(*plan.Image) bool) (func(*plan.Image) bool, error) {
	has := l.hasIn(names)
	var stay []plan.Image
	for i := range p.Images {
		if img := &p.Images[i]; img.Subject == "" && !has(img) {
			stay = append(stay, *img)
		}
	}
	stay, err := p.WithAttached(stay)
	if err != nil {
		return nil, err
	}
	type key struct {
		imagePlace
		source string
		kind   plan.ImageKind
	}
	keyOf := func(img *plan.Image) key {
		return key{imagePlace{img.Repository, img.Digest}, img.Source, img.Kind}
	}
	kept := map[key]bool{}
	for i := range stay {
		kept[keyOf(&stay[i])] = true
	}
	return func(img *plan.Image) bool { return needed != nil && needed(img) || kept[keyOf(img)] }, nil
}

// untag returns an earlier plan in which images that are not listed do not have the tags of listed images: these
// tags are not wanted because of them.
func (l *listedImages) untag(p *plan.Plan, names map[string]reference.Reference) *plan.Plan {
	tags := map[string]bool{}
	for i := range l.items {
		tags[l.items[i].Image.Path+":"+l.items[i].Image.Tag] = true
	}
	has := l.hasIn(names)
	q := *p
	q.Images = slices.Clone(p.Images)
	for i := range q.Images {
		if img := &q.Images[i]; !has(img) {
			img.Tags = slices.DeleteFunc(slices.Clone(img.Tags), func(tag string) bool { return tags[names[img.Repository].Path+":"+tag] })
		}
	}
	return &q
}

// addForeign adds the tags that no record lists, and the images, with the signatures that have tags made of their
// digests. It returns how many images no record lists.
func (l *listedImages) addForeign(ctx context.Context, r *recordedRevisions) (int, error) {
	foreign := map[string][]*deletion.Item{} // by repository
	seen := map[imagePlace]bool{}
	for i := range l.items {
		item := &l.items[i]
		if item.Digest == "" {
			continue
		}
		at := item.Image.WithDigest(item.Digest)
		at.Tag = item.Image.Tag
		place := imagePlace{at.Path, at.Digest}
		recorded, _ := r.all.Has(at)
		r.all.AddImage(prune.Revision{}, at, item.Source, false)
		if !recorded && !seen[place] {
			seen[place] = true
			foreign[at.Path] = append(foreign[at.Path], item)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(foreign)) {
		if err := r.addForeignSignatures(ctx, path, foreign[path]); err != nil {
			return 0, err
		}
	}
	return len(seen), nil
}

// addForeignSignatures adds the signatures of images of a repository that no record lists.
func (r *recordedRevisions) addForeignSignatures(ctx context.Context, path string, of []*deletion.Item) error {
	registry := &prune.Registry{Client: r.to.Client, Host: r.to.Host}
	tags, err := registry.Tags(ctx, path)
	if err != nil {
		return err
	}
	for _, item := range of {
		prefix := plan.ReferrersTag(item.Digest) + "."
		for _, tag := range tags {
			if !strings.HasPrefix(tag, prefix) {
				continue
			}
			d, err := registry.Resolve(ctx, path, tag)
			if err != nil {
				return err
			}
			at := reference.Reference{Host: r.to.Host, Path: path, Tag: tag, Digest: d}
			if recorded, _ := r.all.Has(at); d != "" && (!recorded || d == item.Digest) {
				r.all.AddAttachment(prune.Revision{}, at, item.Source, item.Digest)
			}
		}
	}
	return nil
}

// sortStaying sorts images that stay.
func sortStaying(all []StayingImage) []StayingImage {
	elements.Sort(all, func(a, b StayingImage) int {
		return strings.Compare(a.Image+"\n"+a.Reason, b.Image+"\n"+b.Reason)
	})
	return slices.Compact(all)
}
