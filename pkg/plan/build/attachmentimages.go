package build

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// signaturesList is the list of Reason for what belongs to another image.
const signaturesList = "signatures"

// attachedImages are the images of a plan with what belongs to them.
type attachedImages struct {
	images  []plan.Image
	missing []plan.Missing
	blocked []plan.Blocked
	notes   []string
}

// attach finds the signatures, attestations, bills of materials and other referrers of images, and of their children that are
// mirrored. They become images of the same repositories. Those of releases are verified as clusters do it. Catalogs that were
// built have none: the signatures of the original do not cover them.
func attach(ctx context.Context, graph *manifestGraph, images []plan.Image, catalogs []plan.Catalog, releases []selectedRelease, cfg imageset.Mirror, sources Sources, opts Options) (attachedImages, error) {
	var of releasePolicies
	var a attachedImages
	of.policies, a.notes = policiesOf(releases)
	of.needed = requiringSignatures(releases)
	removed, why := cfg.Signatures == imageset.RemoveSignatures || opts.RemoveSignatures, ""
	switch {
	case removed:
		why = "because signatures are removed"
	case opts.Format == manifest.Docker:
		why = "which are OCI artifacts and have no form with Docker's media types"
	}
	for _, p := range releases {
		if why != "" && of.needed[p.name()] {
			a.notes = append(a.notes, fmt.Sprintf("release %s is mirrored without the signatures of its images, %s; clusters of OpenShift 4.21 and later do not pull without them", p.name(), why))
		}
	}
	if removed {
		a.images = images
		return a, nil
	}
	f := &attachmentFinder{graph: graph, sources: sources, opts: opts, repositories: map[string]*sourceRepository{}, known: map[string]digest.Digest{}}
	for i := range images {
		f.addImage(&images[i], of)
	}
	originals, rewritten := f.addOriginals(catalogs), f.addRewritten(images)
	if err := f.find(ctx); err != nil {
		return attachedImages{}, err
	}
	w := &attacher{finder: f, blocked: cfg.BlockedImages, taken: map[string]digest.Digest{}, missing: map[string]bool{}, attachedImages: a}
	for i := range images {
		for _, name := range images[i].Names() {
			w.taken[name] = images[i].Digest
		}
	}
	for i := range images {
		if s := f.subjectsOf(&images[i]); s != nil {
			for _, d := range graph.reachable(images[i].Digest) {
				w.add(images[i].Repository, s, s.subjects[d])
			}
		}
	}
	w.notes = append(w.notes, f.notes...)
	for i, s := range originals {
		if n := len(s.found); n > 0 {
			w.notes = append(w.notes, fmt.Sprintf("catalog %s was built again: %s of the original do not cover it and are left out", i, count(n, "signature or other referrer", "signatures and other referrers")))
		}
	}
	w.notes = append(w.notes, rewritten.notes(opts.Format)...)
	w.notes = append(w.notes, w.notesOnRefused()...)
	w.addFailures()
	w.images = merge(append(images, w.images...))
	return w.attachedImages, plan.CheckTags(w.images)
}

// addImage adds the manifests of an image to those whose attachments are looked for.
func (f *attachmentFinder) addImage(img *plan.Image, of releasePolicies) {
	r := f.subjectsOf(img)
	if r == nil {
		return
	}
	r.roots = append(r.roots, img.Digest)
	for _, d := range f.graph.reachable(img.Digest) {
		if f.graph.node(d).built {
			continue // no source has signatures of it
		}
		s, _ := r.subject(d)
		if !isReleaseImage(img.Kind) {
			s.wants = allTags
			continue
		}
		s.wants |= signatureTag
		if s.signed == nil {
			s.signed = &signedImage{repository: strings.TrimSuffix(r.named(""), "@"), digest: d}
		}
		s.signed.add(img, len(f.graph.node(d).children) > 0, of)
	}
}

// addOriginals adds the original images of catalogs that were built, and returns them by catalog.
func (f *attachmentFinder) addOriginals(catalogs []plan.Catalog) map[string]*sourceSubject {
	all := map[string]*sourceSubject{}
	for _, c := range catalogs {
		if !c.Built || c.SourceDigest == "" || f.sources.Attachments == nil {
			continue
		}
		r := f.repositoryOf(c.Source)
		if r == nil {
			continue
		}
		all[c.Name()], _ = r.subject(c.SourceDigest)
	}
	return all
}

// An attacher adds attachments to the images of a plan.
type attacher struct {
	finder  *attachmentFinder
	blocked []imageset.Blocked
	taken   map[string]digest.Digest // by name in the mirror
	missing map[string]bool          // by source
	refused []string                 // sources with media types that the plan's format does not have
	attachedImages
}

// add adds the attachments of a subject, and theirs, to a repository of the mirror.
func (w *attacher) add(repository string, r *sourceRepository, s *sourceSubject) {
	if s == nil {
		return
	}
	for _, a := range s.found {
		reasons := []plan.Reason{{List: signaturesList}}
		if s.signed != nil && a.kind == plan.SignatureImage {
			reasons = s.signed.reasons
		} else if pattern, ok := imageset.BlockedBy(w.blocked, strings.TrimPrefix(a.source, ociScheme), repository); ok {
			if b := (plan.Blocked{Source: a.source, Pattern: pattern, Reasons: reasons}); !slices.ContainsFunc(w.attachedImages.blocked, func(have plan.Blocked) bool { return have.Source == b.Source }) {
				w.attachedImages.blocked = append(w.attachedImages.blocked, b)
			}
			continue
		}
		if a.err != nil {
			if !w.missing[a.source] {
				w.missing[a.source] = true
				w.attachedImages.missing = append(w.attachedImages.missing, plan.NewMissing(a.source, a.kind, a.err, reasons))
			}
			continue
		}
		if w.finder.graph.refuses(a.digest, w.finder.opts.Format) {
			w.refused = append(w.refused, a.source)
			continue
		}
		img := plan.Image{Source: a.source, Kind: a.kind, Digest: a.digest, Repository: repository, Tags: []string{}, Subject: s.digest, ArtifactType: a.artifactType, PredicateType: a.predicateType, Reasons: reasons}
		if a.tag != "" {
			img.Tags = []string{a.tag}
		}
		name := img.Names()[0]
		have, ok := w.taken[name]
		switch {
		case ok && have != a.digest:
			w.notes = append(w.notes, fmt.Sprintf("%s is left out, because %s is another image in the mirror", a.source, name))
			continue
		case ok:
			continue
		}
		w.taken[name] = a.digest
		w.images = append(w.images, img)
		for _, d := range w.finder.graph.reachable(a.digest) {
			w.add(repository, r, r.subjects[d])
		}
	}
}

// notesOnRefused returns a note on what is left out because of the plan's format.
func (w *attacher) notesOnRefused() []string {
	all := slices.Compact(slices.Sorted(slices.Values(w.refused)))
	if len(all) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s left out, for which the media types of %s have no form: %s", count(len(all), "signature or other referrer is", "signatures and other referrers are"), formatNames[w.finder.opts.Format], shortList(all))}
}

// addFailures adds the repositories in which nothing could be looked for.
func (w *attacher) addFailures() {
	for name, r := range w.finder.repositories {
		if r.err != nil {
			w.attachedImages.missing = append(w.attachedImages.missing, plan.NewMissing(name, plan.SignatureImage, r.err, []plan.Reason{{List: signaturesList}}))
		}
	}
	elements.Sort(w.attachedImages.missing, func(a, b plan.Missing) int { return strings.Compare(a.Source, b.Source) })
}
