package mirror

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A referrerRegistry is a memoryRegistry that lists referrers and records the order of manifests, with
// their tags.
type referrerRegistry struct {
	*memoryRegistry
	subjects map[digest.Digest]digest.Digest // of referrers

	lists  sync.Mutex
	order  []string
	listed map[string]map[digest.Digest]bool // by subject
	asked  int
}

func newReferrerRegistry(p *plan.Plan) *referrerRegistry {
	r := &referrerRegistry{memoryRegistry: newMemoryRegistry(), subjects: map[digest.Digest]digest.Digest{}, listed: map[string]map[digest.Digest]bool{}}
	for _, img := range p.Images {
		if img.Kind == plan.ReferrerImage {
			r.subjects[img.Digest] = img.Subject
		}
	}
	return r
}

func (r *referrerRegistry) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	if err := r.memoryRegistry.PutManifest(ctx, repository, desc, raw, tags); err != nil {
		return err
	}
	r.lists.Lock()
	defer r.lists.Unlock()
	r.order = append(r.order, strings.TrimSpace(string(desc.Digest)+" "+strings.Join(tags, ",")))
	if subject := r.subjects[desc.Digest]; subject != "" {
		at := key(repository, subject)
		if r.listed[at] == nil {
			r.listed[at] = map[digest.Digest]bool{}
		}
		r.listed[at][desc.Digest] = true
	}
	return nil
}

func (r *referrerRegistry) Referrers(_ context.Context, repository string, subject digest.Digest) (map[digest.Digest]bool, error) {
	r.lists.Lock()
	defer r.lists.Unlock()
	r.asked++
	return r.listed[key(repository, subject)], nil
}

// before returns an error unless the manifests were pushed in this order.
func (r *referrerRegistry) before(t *testing.T, manifests ...string) {
	t.Helper()
	at := -1
	for _, m := range manifests {
		i := slices.Index(r.order, m)
		if i <= at {
			t.Errorf("%s is number %d, after %d, in %q", m, i, at, r.order)
		}
		at = i
	}
}

// attach adds an image that belongs to a manifest: a signature with a tag, or a referrer without.
func (m *maker) attach(kind plan.ImageKind, repository string, subject digest.Digest, text string, because ...plan.Reason) digest.Digest {
	d := m.image(text)
	m.attachDigest(kind, repository, subject, d, because...)
	return d
}

func (m *maker) attachDigest(kind plan.ImageKind, repository string, subject, d digest.Digest, because ...plan.Reason) {
	img := plan.Image{Source: "src.example.com/" + repository + "@" + d.String(), Kind: kind, Digest: d, Repository: repository, Subject: subject, Reasons: because}
	if kind != plan.ReferrerImage {
		img.Tags = []string{"sha256-" + subject.Encoded() + ".sig"}
		img.Source = "src.example.com/" + repository + ":" + img.Tags[0]
	}
	m.p.Images = append(m.p.Images, img)
}

// signedSample is an index with a signature, a referrer of it, and a referrer of that, and a catalog with
// a signature.
func signedSample(t *testing.T) (m *maker, root, sig, bundle, nested, catalog, catalogSig digest.Digest) {
	m = newMaker(t)
	amd := m.image("amd64")
	root = m.index(amd, m.image("arm64"))
	m.add("org/multi", "v1", root, of(catalogSource))
	sig = m.attach(plan.SignatureImage, "org/multi", amd, "signature")
	bundle = m.attach(plan.ReferrerImage, "org/multi", root, "bundle")
	nested = m.attach(plan.ReferrerImage, "org/multi", bundle, "nested")
	catalog = m.image("the catalog")
	m.addCatalog(catalogSource, "cat/index", catalog)
	catalogSig = m.attach(plan.SignatureImage, "cat/index", catalog, "signature of the catalog")
	return m, root, sig, bundle, nested, catalog, catalogSig
}

// TestOrderOfAttachments checks that a tag is pushed after everything that belongs to its image.
func TestOrderOfAttachments(t *testing.T) {
	t.Parallel()
	m, root, sig, bundle, nested, catalog, catalogSig := signedSample(t)
	p := m.plan()
	for _, streams := range []int{1, 8} {
		r := newReferrerRegistry(p)
		rep := mustRun(t, p, m.source(), r, Options{Streams: streams})
		if !rep.Complete() || rep.Copied != 6 {
			t.Errorf("report %+v", rep)
		}
		sigTag, catalogTag := p.Images[0].Tags, p.Images[1].Tags
		for _, img := range p.Images {
			switch img.Digest {
			case sig:
				sigTag = img.Tags
			case catalogSig:
				catalogTag = img.Tags
			}
		}
		r.before(t, sig.String()+" "+sigTag[0], root.String(), root.String()+" v1")
		r.before(t, root.String(), bundle.String(), nested.String())
		r.before(t, bundle.String(), root.String()+" v1", catalog.String()+" v1")
		r.before(t, catalogSig.String()+" "+catalogTag[0], catalog.String()+" v1")

		// Again, nothing is pushed, and each list is requested once.
		r.order, r.asked = nil, 0
		if rep := mustRun(t, p, m.source(), r, Options{Streams: streams}); !rep.UpToDate() || len(r.order) > 0 || r.asked != 2 {
			t.Errorf("report %+v, pushed %v, %d lists", rep, r.order, r.asked)
		}
		// A referrer that is present and not listed is pushed again, and the image is not.
		delete(r.listed[key("org/multi", root)], bundle)
		lost, err := Verify(t.Context(), p, r, Options{})
		if err != nil || len(lost) != 1 || lost[0].Digest != bundle || !strings.Contains(lost[0].Problem, "does not list it as a referrer of "+root.String()) {
			t.Errorf("verify: %+v, %v", lost, err)
		}
		if rep := mustRun(t, p, m.source(), r, Options{Streams: streams}); rep.Copied != 1 || !slices.Equal(r.order, []string{bundle.String()}) {
			t.Errorf("report %+v, pushed %v", rep, r.order)
		}
	}
}

// TestSignatureFirst checks that an image whose attachments all have tags is pushed once, after them.
func TestSignatureFirst(t *testing.T) {
	t.Parallel()
	m := newMaker(t)
	root := m.image("signed")
	m.add("org/signed", "v1", root, of(catalogSource))
	sig := m.attach(plan.SignatureImage, "org/signed", root, "signature")
	r := newReferrerRegistry(m.plan())
	if rep := mustRun(t, m.plan(), m.source(), r, Options{}); !rep.Complete() {
		t.Errorf("report %+v", rep)
	}
	fail.Diff(t, []string{sig.String() + " sha256-" + root.Encoded() + ".sig", root.String() + " v1"}, r.order)
}

// TestFailedAttachments checks that the failure of a signature does not withhold the image, and the other
// way round.
func TestFailedAttachments(t *testing.T) {
	t.Parallel()
	for _, lostImage := range []bool{false, true} {
		m, root, sig, _, _, _, _ := signedSample(t)
		p, source := m.plan(), m.source()
		lost := sig
		if lostImage {
			lost = root
		}
		source.broken[lost] = errors.New("lost")
		r := newReferrerRegistry(p)
		rep := mustRun(t, p, source, r, Options{})
		if len(rep.Failed) != 1 || len(rep.Withheld) > 0 != lostImage {
			t.Errorf("report %+v", rep)
		}
		if tagged := r.tags["org/multi:v1"] == root; tagged == lostImage {
			t.Errorf("tags: %v", r.tags)
		}
	}
}

// TestAttachmentsInCircles runs plans whose tags name what they like: every run comes to its end, and an
// image that belongs to no other gets its tag after what belongs to it.
func TestAttachmentsInCircles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := newMaker(t)
		var all []digest.Digest
		for i := range 6 {
			all = append(all, m.image(fmt.Sprint(i)))
		}
		all = append(all, m.index(all[0], all[1]))
		m.add("org/a", "v1", all[6])
		m.add("org/a", "v2", all[2])
		taken := map[string]bool{}
		for range 8 {
			d, subject := all[random.IntN(len(all))], all[random.IntN(len(all))]
			kind := []plan.ImageKind{plan.SignatureImage, plan.ReferrerImage}[random.IntN(2)]
			name := string(kind) + string(subject)
			if kind == plan.ReferrerImage {
				name = string(d)
			}
			if d == subject || taken[name] {
				continue
			}
			taken[name] = true
			m.attachDigest(kind, "org/a", subject, d)
		}
		p := m.plan()
		slices.SortStableFunc(p.Images, plan.CompareImages)
		r := newReferrerRegistry(p)
		rep := mustRun(t, p, m.source(), r, Options{Streams: 1 + int(seed%4)})
		if !rep.Complete() || rep.Copied != len(p.Images) {
			t.Errorf("seed %d: %+v", seed, rep)
		}
		for _, img := range p.Images {
			if img.Subject == all[2] && len(img.Tags) == 1 {
				r.before(t, string(img.Digest)+" "+img.Tags[0], string(all[2])+" v2")
			}
		}
	}
}
