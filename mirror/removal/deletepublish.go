package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// shrink removes from the current plans of all image sets what the list selects of them. Nothing is deleted. It reports
// whether a plan changed.
func shrink(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, o *DeleteOptions, listed *listedImages, result *DeleteResult) (changed bool, err error) {
	r := &recordedRevisions{env: s.Env, to: t, records: mirror.NewImageSets(t.Client, t.RegistryPath), listed: listed}
	revisions, err := setrecord.Current(ctx, r.records)
	if err != nil {
		return false, advice.Wrap(advice.Failure, err, unreadHint)
	}
	names := map[string]bool{}
	for i := range revisions {
		names[revisions[i].Name] = true
	}
	if o.Name != "" && !names[o.Name] {
		return false, unknownSet(t, o.Name, names)
	}
	if err := checkRecorded(s, t, names); err != nil {
		return false, err
	}
	for i := range revisions {
		smaller, err := r.removeListed(ctx, s, o, &revisions[i], result)
		if err != nil {
			return false, err
		}
		changed = changed || smaller
	}
	return changed, nil
}

// removeListed removes from the plan of an image set what the list selects of it: it publishes the catalogs without
// that, and records the smaller plan as a new revision. If that is interrupted in between, it does the same again: the
// same plan gives the same catalogs.
func (r *recordedRevisions) removeListed(ctx context.Context, s *workspace.Session, o *DeleteOptions, revision *setrecord.Revision, result *DeleteResult) (changed bool, err error) {
	p, names, err := r.readPlan(ctx, revision)
	if err != nil {
		return false, err
	}
	r.listed.addCurrent(revision.Name, p, names)
	choice := r.listed.choices[revision.Name]
	if choice == nil {
		return false, nil
	}
	at := *r.to
	at.MaxNestedPaths, at.Names = revision.MaxNestedPaths, names
	from := s.Sources.Plan()
	content := newPublishedCatalogs(mirror.NewOrigin(at.Client, s.Sources.Cache), p, names)
	from.Images = content
	removed, err := build.Remove(ctx, p, choice, from)
	if err != nil {
		return false, err
	}
	if err := checkPublished(ctx, &at, p, removed.Plan, choice); err != nil {
		return false, err
	}
	r.listed.addRemoved(p, removed, names)
	if !choice.Touches(p) {
		return false, nil // everything that was selected has to stay
	}
	if o.DryRun {
		if err := addRepublished(&at, revision.Name, removed, result); err != nil {
			return false, err
		}
		result.ImageSets = append(result.ImageSets, revision.Name)
		r.listed.smaller[revision.Name] = removed.Plan
		return true, nil
	}
	if len(removed.Catalogs) > 0 {
		if err := publishAgain(ctx, s, &at, revision, removed, content, result); err != nil {
			return false, err
		}
	}
	now := *revision
	now.LastRun, now.User, now.Host = o.Now().UTC().Truncate(time.Second), setrecord.Visible(env.UserName(s.Env.Variable)), setrecord.Visible(lockfile.Host())
	missing, withheld := now.Content.Missing, now.Content.Withheld
	now.Content = site.ContentOf(removed.Plan)
	now.Content.Missing, now.Content.Withheld = missing, withheld
	before, err := setrecord.ReadRecord(ctx, r.records, revision)
	if err != nil {
		return false, err
	}
	record := withoutRemoved(before, p, removed.Plan, names)
	written, err := setrecord.Write(ctx, r.records, s.Sources.Cache, now, revision, record, removed.Plan.Write)
	if err != nil {
		return false, fmt.Errorf("recording the image set %q without what is deleted: %w", revision.Name, err)
	}
	site.RemoveAnnounced(ctx, s, &at, written)
	result.ImageSets = append(result.ImageSets, revision.Name)
	return true, s.SaveRecord(r.to.Key(), revision.Name, record)
}

// checkPublished returns an error if something is selected of a catalog, and the mirror publishes neither the one of
// the plan nor the one of the smaller plan: what it names is in another plan.
func checkPublished(ctx context.Context, t *site.RegistryDestination, p, smaller *plan.Plan, choice *deletion.Choice) error {
	selected := map[string]bool{}
	maps.Copy(selected, choice.Catalogs)
	for b, is := range choice.Bundles {
		selected[b.Catalog] = selected[b.Catalog] || is
	}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		if !selected[c.Name()] {
			continue
		}
		ref := t.Names[c.Repository].WithTag(c.Tag)
		desc, found, err := t.Client.ManifestExists(ctx, ref)
		switch {
		case err != nil:
			return err
		case found && (desc.Digest == c.Digest || isCatalogOf(smaller, c.Name(), desc.Digest)), !found && choice.Catalogs[c.Name()]:
		default:
			return advice.New(advice.Failure, "complete the last run with gantry mirror, and delete then", "the mirror does not publish the catalog %s that its record lists: nothing was deleted", ref)
		}
	}
	return nil
}

// isCatalogOf reports whether a catalog of a plan has a digest.
func isCatalogOf(p *plan.Plan, name string, d digest.Digest) bool {
	return slices.ContainsFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Name() == name && c.Digest == d })
}

// addRemoved adds the catalogs that are removed as a whole to the list, what a plan loses, and why listed images stay.
func (l *listedImages) addRemoved(p *plan.Plan, removed *build.Removed, names map[string]reference.Reference) {
	add := func(c *plan.Catalog) {
		item := deletion.Item{Source: c.Source, Image: names[c.Repository].WithTag(c.Tag), Digest: c.Digest}
		if !l.places[imagePlace{item.Image.Path, item.Digest}] {
			l.items = append(l.items, item)
			l.add(&item)
		}
	}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		stays := slices.ContainsFunc(removed.Plan.Catalogs, func(n plan.Catalog) bool { return n.Name() == c.Name() && n.Tag == c.Tag })
		if !stays { // or has a tag made of its digest, which is another one now
			add(c)
		}
	}
	choice := removed.Selected.Choice
	loses := map[string]bool{} // catalogs
	for b, is := range choice.Bundles {
		loses[b.Catalog] = loses[b.Catalog] || is
	}
	for i := range p.Images {
		img := &p.Images[i]
		if img.Kind == plan.CatalogImage && loses[img.Catalog] || slices.ContainsFunc(img.Reasons, func(r plan.Reason) bool { return choice.Selects(img, &r) }) {
			l.affected[imagePlace{names[img.Repository].Path, img.Digest}] = true
		}
	}
	for i := range removed.Selected.Named {
		named := &removed.Selected.Named[i]
		l.named[imagePlace{names[named.Image.Repository].Path, named.Image.Digest}] = "the image set " + p.Name + " needs it: " + named.Because
	}
}

// publishAgain publishes catalogs of the plan of a revision that were built again.
func publishAgain(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, revision *setrecord.Revision, removed *build.Removed, content image.Reader, result *DeleteResult) error {
	set := revision.Name
	part, err := removed.Plan.OnlyCatalogs(removed.Catalogs)
	if err != nil {
		return err
	}
	s.Env.Noticef("publishing %s of the image set %q without the listed bundles", env.Number(len(part.Catalogs), "catalog", "catalogs"), set)
	j := &copying.Job{Source: content, To: t, Catalogs: content}
	if j.Job, err = mirror.NewJob(ctx, part, nil); err != nil {
		return err
	}
	j.Announce = func(ctx context.Context) { site.Announce(ctx, s, t, removed.Plan, revision) }
	report, _, err := copying.Run(ctx, s, j, copying.Options{})
	if err != nil {
		return err
	}
	if !report.Complete() {
		return fmt.Errorf("publishing catalogs, so nothing was deleted: %w", admission.NewPartialError(report, selection.OnErrorContinue))
	}
	for i := range part.Catalogs {
		c := &part.Catalogs[i]
		s.Audit(audit.Entry{Event: audit.CatalogPublished, Name: set, Subject: c.Name(), Digest: string(c.Digest)})
	}
	return addRepublished(t, set, removed, result)
}

// addRepublished adds the catalogs of a plan that were built again to the result.
func addRepublished(t *site.RegistryDestination, set string, removed *build.Removed, result *DeleteResult) error {
	part, err := removed.Plan.OnlyCatalogs(removed.Catalogs)
	if err != nil {
		return err
	}
	for i := range part.Catalogs {
		c := &part.Catalogs[i]
		ref := t.Names[c.Repository].WithTag(c.Tag).String()
		result.Catalogs = append(result.Catalogs, RepublishedCatalog{ImageSet: set, Catalog: c.Name(), Image: ref, Digest: c.Digest})
	}
	return nil
}

// withoutRemoved returns a record without the catalogs, releases and graph data that a plan no longer has. Images stay
// until they are deleted.
func withoutRemoved(record *state.Record, before, after *plan.Plan, names map[string]reference.Reference) *state.Record {
	out := *record
	out.Catalogs, out.Selections = nil, maps.Clone(record.Selections)
	was, is := mirror.RecordedCatalogs(before, names), mirror.RecordedCatalogs(after, names)
	find := func(all []resources.Catalog, c *resources.Catalog) *resources.Catalog {
		i := slices.IndexFunc(all, func(other resources.Catalog) bool { return other.Source == c.Source && other.Target == c.Target })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for i := range record.Catalogs {
		c := record.Catalogs[i]
		old, now := find(was, &c), find(is, &c)
		if old == nil || old.Mirror != c.Mirror {
			out.Catalogs = append(out.Catalogs, c) // of an earlier plan
			continue
		}
		selection := out.Selections[c.Mirror.WithTag(c.Mirror.Tag).String()]
		delete(out.Selections, c.Mirror.WithTag(c.Mirror.Tag).String())
		if now != nil {
			out.AddCatalog(*now, selection)
		}
	}
	out.Releases = slices.DeleteFunc(slices.Clone(record.Releases), func(r state.Release) bool {
		is := func(p plan.Release) bool {
			return p.Version == r.Version && p.Arch == r.Arch && p.Digest == r.Mirror.Digest
		}
		return slices.ContainsFunc(before.Releases, is) && !slices.ContainsFunc(after.Releases, is)
	})
	out.Updates = after.Updates
	if after.GraphData == nil && before.GraphData != nil {
		out.GraphData = nil
	}
	return &out
}

// publishedCatalogs reads the catalogs of a plan from the mirror, and what was built of them.
type publishedCatalogs struct {
	origin *mirror.Origin
	at     map[string][]string // repositories in the mirror, by source
}

func newPublishedCatalogs(origin *mirror.Origin, p *plan.Plan, names map[string]reference.Reference) *publishedCatalogs {
	r := &publishedCatalogs{origin: origin, at: map[string][]string{}}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		if at := names[c.Repository].Name(); !slices.Contains(r.at[c.Source], at) {
			r.at[c.Source] = append(r.at[c.Source], at)
		}
	}
	return r
}

// Manifest implements image.Reader.
func (r *publishedCatalogs) Manifest(ctx context.Context, source string, d digest.Digest) (desc ocispec.Descriptor, raw []byte, err error) {
	err = fs.ErrNotExist
	for _, at := range r.at[source] {
		if desc, raw, err = r.origin.Manifest(ctx, at, d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return desc, raw, err
}

// Blob implements image.Reader.
func (r *publishedCatalogs) Blob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (body io.ReadCloser, err error) {
	err = fs.ErrNotExist
	for _, at := range r.at[source] {
		if body, err = r.origin.Blob(ctx, at, desc, offset); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return body, err
}
