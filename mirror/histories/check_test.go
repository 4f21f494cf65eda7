package histories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A stored is what the registry of the mirrors has, from the files of its storage, so that manifests which nothing lists are
// known, too.
type stored struct {
	manifests map[place]bool
	tags      map[string]digest.Digest // by "repository:tag"
	all       []rt.Repository
}

func (e *engine) stored(ctx context.Context) (*stored, error) {
	all, err := e.mirror.Repositories(".")
	s := &stored{map[place]bool{}, map[string]digest.Digest{}, all}
	for _, r := range all {
		for _, d := range r.Manifests {
			p := place{r.Name, d}
			if e.untagged[p] {
				if m, err := readManifest(ctx, e.mirror, p.repository, d.String()); m == nil {
					if err != nil {
						return nil, err
					}
					continue
				}
			}
			s.manifests[p] = true
		}
		for tag, d := range r.Tags {
			s.tags[r.Name+":"+tag] = d
		}
	}
	return s, err
}

// check checks that everything that must be there is there. With whole, it is also pulled.
func (e *engine) check(ctx context.Context, whole bool) error {
	s, err := e.stored(ctx)
	if err != nil {
		return err
	}
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	partly := map[place]bool{}
	needed := map[place]string{}
	for at, r := range e.records {
		for _, w := range r.revisions {
			maps.Copy(partly, w.partly)
		}
		r.needs(func(p place) { needed[p] = at.set + " in " + at.prefix })
	}
	for p := range e.foreign.present {
		needed[p] = "others, who attached something"
	}
	for subject, list := range e.foreign.referrers {
		m, err := readManifest(ctx, e.mirror, subject.repository, listTag(subject.digest))
		if err != nil {
			return err
		}
		for _, d := range list {
			needed[place{subject.repository, d}] = "others"
			if m == nil || !m.has(d) {
				add("the list of referrers of %s does not have %s of others", subject, d)
			}
		}
	}
	for name, d := range e.foreign.tags {
		repository, _ := splitTag(name)
		needed[place{repository, d}] = "others"
		if s.tags[name] != d {
			add("the tag %s of others is %q and not %s", name, s.tags[name], d)
		}
	}
	for p, by := range needed {
		if !s.manifests[p] {
			add("%s is gone, which is needed by %s", p, by)
		}
	}
	if whole && len(problems) == 0 {
		problems = append(problems, e.pull(ctx, s, needed, partly))
	}
	return errors.Join(problems...)
}

// manifest returns a manifest that the registry of the mirrors has.
func (e *engine) manifest(ctx context.Context, p place) (*gotManifest, error) {
	if m := e.read[p.digest]; m != nil {
		return m, nil
	}
	m, err := readManifest(ctx, e.mirror, p.repository, p.digest.String())
	if err == nil && m == nil {
		err = fmt.Errorf("%s cannot be read", p)
	}
	e.read[p.digest] = m
	return m, err
}

// pull reads all that is needed once, to the last byte. Of indexes that are wanted partly, not all images are needed.
func (e *engine) pull(ctx context.Context, s *stored, needed map[place]string, partly map[place]bool) error {
	var problems []error
	blobs, manifests := map[string]map[digest.Digest]bool{}, map[string][]digest.Digest{}
	for p, by := range needed {
		m, err := e.manifest(ctx, p)
		if err != nil {
			return err
		}
		for _, child := range m.Manifests {
			if !partly[p] && !s.manifests[place{p.repository, child.Digest}] {
				problems = append(problems, fmt.Errorf("%s lists %s, which is gone; it is needed by %s", p, child.Digest, by))
			}
		}
		if blobs[p.repository] == nil {
			blobs[p.repository] = map[digest.Digest]bool{}
		}
		manifests[p.repository] = append(manifests[p.repository], p.digest)
		for _, blob := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
			if blob.Digest != "" {
				blobs[p.repository][blob.Digest] = true
			}
		}
	}
	client := e.mirror.Client()
	for repository := range blobs {
		r := rt.Repository{Name: repository, Blobs: slices.Collect(maps.Keys(blobs[repository])), Manifests: manifests[repository]}
		problems = append(problems, client.CheckRepository(ctx, r))
	}
	return errors.Join(problems...)
}

func (m *gotManifest) has(d digest.Digest) bool {
	for _, entry := range m.Manifests {
		if entry.Digest == d {
			return true
		}
	}
	return false
}

// allowed returns what may be in the mirrors, and checks their tags, catalogs, artifacts and lists of referrers.
func (e *engine) allowed(ctx context.Context, s *stored) (map[place]bool, error) {
	allowed, roots := map[place]bool{}, map[place]bool{}
	var problems []error
	for at, r := range e.records {
		w := r.current()
		for p := range w.manifests {
			allowed[p] = true
		}
		for name, d := range w.tags {
			if s.tags[name] != d {
				problems = append(problems, fmt.Errorf("the tag %s is %q, want %s", name, s.tags[name], d))
			}
		}
		for name, layer := range w.artifacts {
			problems = append(problems, e.checkArtifact(ctx, s, name, layer, allowed))
		}
		for name := range w.images {
			problems = append(problems, e.allowTree(ctx, s, name, allowed))
		}
		for name, bundles := range w.catalogs {
			repository, tag := splitTag(name)
			v, err := e.mirror.Client().VerifyCatalog(ctx, repository, tag, func(path string) string { return at.prefix + "/" + path })
			if err != nil || !slices.Equal(v.Bundles, bundles) {
				problems = append(problems, fmt.Errorf("the catalog %s has the bundles %v, want %v: %w", name, v.Bundles, bundles, err))
			}
			problems = append(problems, e.allowTree(ctx, s, name, allowed))
		}
		for subject, want := range w.lists {
			problems = append(problems, e.checkList(ctx, subject, want))
		}
	}
	// Lists of referrers of what is wanted.
	for p := range maps.Clone(allowed) {
		if d, ok := s.tags[p.repository+":"+listTag(p.digest)]; ok {
			allowed[place{p.repository, d}] = true
		}
	}
	for name, d := range e.foreign.tags {
		repository, _ := splitTag(name)
		roots[place{repository, d}] = true
	}
	for subject := range e.foreign.referrers {
		roots[subject] = true
	}
	maps.Copy(roots, e.foreign.named)
	return allowed, errors.Join(append(problems, e.allowForeign(ctx, s, roots, allowed))...)
}

// checkArtifact checks the only layer of a file or a chart.
func (e *engine) checkArtifact(ctx context.Context, s *stored, name string, layer digest.Digest, allowed map[place]bool) error {
	repository, tag := splitTag(name)
	m, err := readManifest(ctx, e.mirror, repository, tag)
	if err != nil || m == nil || len(m.Layers) != 1 || m.Layers[0].Digest != layer {
		return errors.Join(fmt.Errorf("%s is not the artifact with %s", name, layer), err)
	}
	_, err = e.mirror.Client().Pull(ctx, repository, tag)
	return errors.Join(err, e.allowTree(ctx, s, name, allowed))
}

// allowTree allows the image of a tag with those that it lists.
func (e *engine) allowTree(ctx context.Context, s *stored, name string, allowed map[place]bool) error {
	repository, tag := splitTag(name)
	m, err := readManifest(ctx, e.mirror, repository, tag)
	if err != nil || m == nil {
		return errors.Join(fmt.Errorf("there is no %s", name), err)
	}
	allowed[place{repository, m.digest}] = true
	for _, child := range m.Manifests {
		allowed[place{repository, child.Digest}] = true
	}
	return nil
}

// checkList checks that a list of referrers has those of the source and of others.
func (e *engine) checkList(ctx context.Context, subject place, want []digest.Digest) error {
	m, err := readManifest(ctx, e.mirror, subject.repository, listTag(subject.digest))
	if err != nil {
		return err
	}
	all := map[digest.Digest]bool{}
	for _, d := range append(slices.Clone(want), e.foreign.referrers[subject]...) {
		all[d] = true
	}
	got := map[digest.Digest]bool{}
	if m != nil {
		for _, entry := range m.Manifests {
			got[entry.Digest] = true
		}
	}
	if !maps.Equal(all, got) {
		return fmt.Errorf("the referrers of %s are %v, want %v", subject, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(all)))
	}
	return nil
}

// allowForeign allows what belongs to content of others: what it lists, its subject, its signatures and referrers.
func (e *engine) allowForeign(ctx context.Context, s *stored, roots, allowed map[place]bool) error {
	subjects := map[place][]place{}
	for p := range s.manifests {
		m, err := e.manifest(ctx, p)
		if err != nil {
			return err
		}
		if m.Subject != nil {
			subject := place{p.repository, m.Subject.Digest}
			subjects[subject] = append(subjects[subject], p)
		}
	}
	seen := map[place]bool{}
	var visit func(place) error
	visit = func(p place) error {
		if seen[p] {
			return nil
		}
		seen[p], allowed[p] = true, true
		next := slices.Clone(subjects[p])
		for _, tag := range []string{listTag(p.digest), signatureTag(p.digest)} {
			if d, ok := s.tags[p.repository+":"+tag]; ok {
				next = append(next, place{p.repository, d})
			}
		}
		if s.manifests[p] {
			m, err := e.manifest(ctx, p)
			if err != nil {
				return err
			}
			for _, child := range m.Manifests {
				next = append(next, place{p.repository, child.Digest})
			}
		}
		for _, n := range next {
			if err := visit(n); err != nil {
				return err
			}
		}
		return nil
	}
	for p := range roots {
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}
