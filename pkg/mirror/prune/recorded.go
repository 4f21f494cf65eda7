// Package prune finds the content of a mirror that no image set needs, and deletes it.
//
// What image sets needed is in the records of the mirror: a plan for each revision. [Recorded] joins them.
// Everything in it is a manifest in a repository, or a tag there. It is wanted if any wanted revision lists it,
// directly, or as the child of an index, or as the subject of a signature. Anything else in Recorded may
// be deleted. Content that is in no record is never deleted.
//
// [Make] asks the registry what stands against that. A manifest stays if a tag, an index or a referrer that
// no record lists refers to it, or a wanted tag that does not name the newer image yet. The result, a
// [DeletionPlan], is a document: the same mirror gives the same bytes.
//
// [Execute] deletes what a plan lists: tags, published catalogs and releases first, then indexes, then the
// images of these indexes, and signatures last. When it is interrupted at any request, nothing that stays refers to something that is
// gone, and the next plan has the rest.
package prune

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A Revision is a state of an image set that a record in the mirror has: the image set's name and the number
// of the revision. Number is 0 for content that only a record lists, and no plan.
type Revision struct {
	ImageSet string `json:"imageSet"`
	Number   int    `json:"revision,omitempty"`
	// Deprecated: Turn is Number under the key of earlier versions, in what is printed and written.
	Turn int `json:"turn,omitempty"`
}

// String returns the image set and the revision.
func (r Revision) String() string { return fmt.Sprintf("%s, revision %d", r.ImageSet, r.Number) }

// orNone returns the revision, the zero value for nil.
func (r *Revision) orNone() Revision {
	if r == nil {
		return Revision{}
	}
	return *r
}

// Recorded is the content of a mirror that its records list. The zero value is empty.
type Recorded struct {
	repositories map[string]*repository // by their paths in the registry
	contents     map[digest.Digest]*content
	blobs        map[digest.Digest]int64 // sizes
}

// A repository is what the records list in one repository.
type repository struct {
	path      string
	manifests map[digest.Digest]*place
	tags      map[string]*recordedTag
}

// A place is a manifest in a repository.
type place struct {
	wanted   bool
	revision *Revision // the last one that lists it; nil if none is known
	source   string    // of the image that it is, or belongs to
	root     bool      // it is an image of a plan, not only the child of one
	// publishable means that it is a catalog or a release, which names other images.
	publishable bool
	// subject is the manifest of the same repository that it belongs to, "" if none.
	subject digest.Digest
	tags    []string // that records list for it
}

// A recordedTag is what the records list for one tag.
type recordedTag struct {
	wanted   bool
	holds    bool // what the registry has under the tag stays
	revision *Revision
	names    []digest.Digest
}

// A content is what a manifest contains. It is the same in every repository.
type content struct {
	mediaType string
	size      int64
	children  []digest.Digest
	blobs     []digest.Digest
}

func (r *Recorded) repository(path string) *repository {
	if r.repositories == nil {
		r.repositories, r.contents, r.blobs = map[string]*repository{}, map[digest.Digest]*content{}, map[digest.Digest]int64{}
	}
	repo := r.repositories[path]
	if repo == nil {
		repo = &repository{path: path, manifests: map[digest.Digest]*place{}, tags: map[string]*recordedTag{}}
		r.repositories[path] = repo
	}
	return repo
}

func (r *repository) place(d digest.Digest) *place {
	at := r.manifests[d]
	if at == nil {
		at = &place{}
		r.manifests[d] = at
	}
	return at
}

// tag adds a tag of a manifest. An image with a tag made of its digest may have the one of earlier versions and
// of oc mirror, too, which stays and goes with the image.
func (r *repository) tag(name string, d digest.Digest, revision *Revision, wanted, holds bool) {
	r.addTag(name, d, revision, wanted, holds)
	if plan.IsDigestTag(name, d) {
		r.addTag(plan.DigestTag(d), d, revision, wanted, holds)
		r.addTag(plan.ReferrersTag(d), d, revision, wanted, holds)
	}
}

func (r *repository) addTag(name string, d digest.Digest, revision *Revision, wanted, holds bool) {
	t := r.tags[name]
	if t == nil {
		t = &recordedTag{}
		r.tags[name] = t
	}
	t.revision, t.wanted, t.holds = revision, t.wanted || wanted, t.holds || holds
	if !slices.Contains(t.names, d) {
		t.names = append(t.names, d)
	}
	if at := r.place(d); !slices.Contains(at.tags, name) {
		at.tags = append(at.tags, name)
	}
}

// Digests are those of all content of plans, whose texts further plans may share.
func (r *Recorded) Digests() []iter.Seq[digest.Digest] {
	return []iter.Seq[digest.Digest]{maps.Keys(r.contents), maps.Keys(r.blobs)}
}

// Add adds the plan of a revision. names are the repositories in the mirror, as mirror.RegistryPath.Repositories returns them.
// want reports whether an image is wanted; nil selects all. Revisions of an image set are added in their order.
func (r *Recorded) Add(revision Revision, p *plan.Plan, names map[string]reference.Reference, want func(*plan.Image) bool) error {
	return r.add(revision, p, names, want, true)
}

// AddEarlier is Add for an earlier revision of another mirror, in which everything is wanted. No run moves its tags, so they
// keep no other images.
func (r *Recorded) AddEarlier(revision Revision, p *plan.Plan, names map[string]reference.Reference) error {
	return r.add(revision, p, names, nil, false)
}

func (r *Recorded) add(revision Revision, p *plan.Plan, names map[string]reference.Reference, want func(*plan.Image) bool, holds bool) error {
	contents, err := p.Contents()
	if err != nil {
		return err
	}
	for i := range p.Images {
		img := &p.Images[i]
		name, ok := names[img.Repository]
		if !ok {
			return fmt.Errorf("repository %s of %s has no name in the mirror", img.Repository, img.Source)
		}
		repo, wanted := r.repository(name.Path), want == nil || want(img)
		err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			r.describe(m)
			at := repo.place(m.Digest)
			at.revision, at.wanted = &revision, at.wanted || wanted
			if at.source == "" || m.Digest == img.Digest {
				at.source = img.Source
			}
			return nil
		}, func(b plan.Blob) error { r.blobs[b.Digest] = b.Size; return nil })
		if err != nil {
			return err
		}
		at := repo.place(img.Digest)
		at.root = true
		if _, ok := img.Publishable(); ok {
			at.publishable = true
		}
		if img.Subject != "" {
			at.subject = img.Subject
		}
		for _, tag := range img.Tags {
			repo.tag(tag, img.Digest, &revision, wanted, wanted && holds)
		}
	}
	return nil
}

// AddImage adds an image that a record lists, and no plan: its content is unknown. ref has a digest. The
// revision is one with the number 0.
func (r *Recorded) AddImage(revision Revision, ref reference.Reference, source string, wanted bool) {
	r.addImage(revision, ref, source, wanted, wanted)
}

// AddOtherImage is AddImage for another mirror, where it is wanted. Its tag keeps no other image unless a run may move it.
func (r *Recorded) AddOtherImage(revision Revision, ref reference.Reference, source string, moves bool) {
	r.addImage(revision, ref, source, true, moves)
}

func (r *Recorded) addImage(revision Revision, ref reference.Reference, source string, wanted, holds bool) {
	repo := r.repository(ref.Path)
	at := repo.place(ref.Digest)
	if at.revision.orNone() == (Revision{}) {
		at.revision, at.source, at.root = &revision, source, true
	}
	at.wanted = at.wanted || wanted
	if ref.Tag != "" && (wanted || repo.tags[ref.Tag] == nil) {
		repo.tag(ref.Tag, ref.Digest, &revision, wanted, holds)
	}
}

// AddAttachment is AddImage for a signature or something else that belongs to the manifest subject of the same
// repository, and that no revision needs.
func (r *Recorded) AddAttachment(revision Revision, ref reference.Reference, source string, subject digest.Digest) {
	r.AddImage(revision, ref, source, false)
	if at := r.repository(ref.Path).place(ref.Digest); at.subject == "" && ref.Digest != subject {
		at.subject = subject
	}
}

// Has reports whether a manifest in the mirror is in Recorded, and whether it is wanted.
func (r *Recorded) Has(ref reference.Reference) (recorded, wanted bool) {
	repo := r.repositories[ref.Path]
	if repo == nil || repo.manifests[ref.Digest] == nil {
		return false, false
	}
	return true, repo.manifests[ref.Digest].wanted
}

// HasTag reports whether records list a tag of a repository.
func (r *Recorded) HasTag(repository, tag string) bool {
	repo := r.repositories[repository]
	return repo != nil && repo.tags[tag] != nil
}

// Repositories returns the paths of all repositories, sorted.
func (r *Recorded) Repositories() []string { return slices.Sorted(maps.Keys(r.repositories)) }

// SubjectOfTag returns the digest that a tag of a signature or of a list of referrers is made of.
func SubjectOfTag(tag string) (digest.Digest, bool) { return subjectOfTag(tag) }

// describe adds what a manifest contains. Plans may list different children of the same index, since their platforms differ.
func (r *Recorded) describe(m *plan.Manifest) {
	c := r.contents[m.Digest]
	if c == nil {
		r.contents[m.Digest] = &content{mediaType: m.MediaType, size: m.Size, children: m.Manifests, blobs: m.Blobs}
		return
	}
	for _, d := range m.Manifests {
		if !slices.Contains(c.children, d) {
			c.children = append(slices.Clip(c.children), d)
		}
	}
}

// wantSubjects makes the subjects of wanted signatures and referrers wanted, with what these contain:
// some registries delete a manifest together with its subject.
func (r *Recorded) wantSubjects() {
	for _, repo := range r.repositories {
		for changed := true; changed; {
			changed = false
			for _, at := range repo.manifests {
				subject := repo.manifests[at.subject]
				if at.wanted && subject != nil && !subject.wanted {
					r.want(repo, at.subject)
					changed = true
				}
			}
		}
	}
}

// want makes a manifest of a repository wanted, and its children.
func (r *Recorded) want(repo *repository, d digest.Digest) {
	at := repo.manifests[d]
	if at == nil || at.wanted {
		return
	}
	at.wanted = true
	if c := r.contents[d]; c != nil {
		for _, child := range c.children {
			r.want(repo, child)
		}
	}
}

// Unwanted returns the repositories in the registry with a manifest or a tag that no revision needs, sorted.
func (r *Recorded) Unwanted() []string {
	return elements.Map(r.unwanted(), func(repo *repository) string { return repo.path })
}

// unwanted returns the repositories with a manifest or a tag that no revision needs, sorted by path.
func (r *Recorded) unwanted() []*repository {
	var all []*repository
	for _, path := range slices.Sorted(maps.Keys(r.repositories)) {
		repo := r.repositories[path]
		if repo.hasUnwanted() {
			all = append(all, repo)
		}
	}
	return all
}

func (r *repository) hasUnwanted() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r.manifests)), func(at *place) bool { return !at.wanted }) ||
		slices.ContainsFunc(slices.Collect(maps.Values(r.tags)), func(t *recordedTag) bool { return !t.wanted })
}
