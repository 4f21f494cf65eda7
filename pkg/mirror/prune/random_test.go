package prune

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A world is a registry, what its records list, and what other programs pushed.
type world struct {
	*memory
	r *rand.Rand
	// images are those that plans may list, with what they contain and what belongs to them.
	images    []worldImage
	revisions []worldRevision
	// foreign are manifests that no record lists, by "repository@digest".
	foreign map[string]bool
}

type worldImage struct {
	plan.Image
	manifests []*stored // children first
	belong    []worldImage
}

type worldRevision struct {
	Revision
	wanted  bool
	earlier bool // of another mirror
	plan    *plan.Plan
}

func (w *world) image(i int) worldImage {
	repository := fmt.Sprintf("repo%d", w.r.IntN(3))
	img := worldImage{Image: plan.Image{Source: fmt.Sprintf("quay.io/org/image%d:v1", i), Kind: plan.AdditionalImage, Repository: repository}}
	layer := func() string { return fmt.Sprintf("layer%d", w.r.IntN(30)) }
	if w.r.IntN(2) == 0 {
		img.manifests = []*stored{newImage("", layer(), layer(), fmt.Sprint(i))}
	} else {
		a, b := newImage("", layer(), fmt.Sprintf("child%d", w.r.IntN(8))), newImage("", layer(), fmt.Sprintf("child%d", w.r.IntN(8)))
		img.manifests = []*stored{a, b, newIndex(fmt.Sprint(i), digest.FromBytes(a.raw), digest.FromBytes(b.raw))}
	}
	img.Digest = digest.FromBytes(img.manifests[len(img.manifests)-1].raw)
	switch w.r.IntN(3) {
	case 0:
		img.Tags = []string{fmt.Sprintf("v%d", w.r.IntN(4))}
	default:
		img.Tags = []string{plan.DigestTag(img.Digest)}
	}
	for n := w.r.IntN(3); n > 0; n-- {
		of := img.manifests[w.r.IntN(len(img.manifests))]
		subject := digest.FromBytes(of.raw)
		sig := worldImage{Image: plan.Image{Source: img.Source, Kind: plan.ReferrerImage, Repository: repository, Subject: subject}}
		if w.r.IntN(2) == 0 {
			sig.Kind, sig.Tags = plan.SignatureImage, []string{plan.ReferrersTag(subject) + ".sig"}
			sig.manifests = []*stored{newImage("", fmt.Sprintf("sig%d", w.r.Int()))}
		} else {
			sig.manifests = []*stored{newImage(subject, fmt.Sprintf("ref%d", w.r.Int()))}
		}
		sig.Digest = digest.FromBytes(sig.manifests[0].raw)
		img.belong = append(img.belong, sig)
	}
	return img
}

// planOf returns a plan of images.
func planOf(images ...worldImage) *plan.Plan {
	p := &plan.Plan{Kind: "GantryPlan", Version: 1}
	manifests, blobs, names := map[digest.Digest]plan.Manifest{}, map[digest.Digest]plan.Blob{}, map[string]bool{}
	var add func(img worldImage)
	add = func(img worldImage) {
		name := img.Names()[0]
		if names[name] {
			return
		}
		names[name] = true
		p.Images = append(p.Images, img.Image)
		for _, s := range img.manifests {
			m := plan.Manifest{Digest: digest.FromBytes(s.raw), MediaType: s.mediaType, Size: int64(len(s.raw)), Manifests: s.children}
			if s.mediaType == ocispec.MediaTypeImageManifest {
				c, _, _ := (&maker{recorded: &Recorded{blobs: map[digest.Digest]int64{}}}).parse(s.mediaType, s.raw)
				for _, b := range c.blobs {
					m.Blobs = append(m.Blobs, b)
					blobs[b] = plan.Blob{Digest: b, Size: 10}
				}
			}
			manifests[m.Digest] = m
		}
		for _, b := range img.belong {
			add(b)
		}
	}
	for _, img := range images {
		add(img)
	}
	for _, d := range slices.Sorted(maps.Keys(manifests)) {
		p.Manifests = append(p.Manifests, manifests[d])
	}
	p.Blobs = append(p.Blobs, elements.Map(slices.Sorted(maps.Keys(blobs)), func(d digest.Digest) plan.Blob { return blobs[d] })...)
	return p
}

func namesOf(p *plan.Plan) map[string]reference.Reference {
	names := map[string]reference.Reference{}
	for _, img := range p.Images {
		names[img.Repository] = reference.Reference{Host: "mirror", Path: "pre/" + img.Repository}
	}
	return names
}

// newWorld makes image sets with revisions, pushes what they list, and adds content of others.
func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{memory: newMemory(r.IntN(2) == 0), r: r, foreign: map[string]bool{}}
	for i := range 12 {
		w.images = append(w.images, w.image(i))
	}
	sets := []string{"a", "b"}
	if seed%3 == 1 {
		sets = append(sets, "other")
	}
	for _, set := range sets {
		last := 1 + r.IntN(4)
		for n := 1; n <= last; n++ {
			var picked []worldImage
			for _, img := range w.images {
				taken := slices.ContainsFunc(picked, func(p worldImage) bool { return p.Repository == img.Repository && p.Tags[0] == img.Tags[0] })
				if r.IntN(3) == 0 && !taken {
					if r.IntN(4) == 0 {
						img.belong = nil
					}
					picked = append(picked, img)
				}
			}
			p := planOf(picked...)
			w.revisions = append(w.revisions, worldRevision{Revision{ImageSet: set, Number: n}, n == last || set == "other", n < last && set == "other", p})
			for _, img := range picked {
				if r.IntN(10) == 0 {
					continue // it failed
				}
				for _, one := range append([]worldImage{img}, img.belong...) {
					if !slices.ContainsFunc(p.Images, func(in plan.Image) bool { return in.Digest == one.Digest && in.Repository == one.Repository }) {
						continue // another image has its tag
					}
					for i, s := range one.manifests {
						tags := one.Tags
						if i < len(one.manifests)-1 {
							tags = nil
						}
						d := w.push("pre/"+one.Repository, s, tags...)
						if earlier := plan.ReferrersTag(d); len(tags) > 0 && plan.IsDigestTag(tags[0], d) && w.tags["pre/"+one.Repository][earlier] == "" && r.IntN(3) == 0 {
							w.tags["pre/"+one.Repository][earlier] = d // as earlier versions tagged it
						}
					}
				}
			}
		}
	}
	for _, repository := range slices.Sorted(maps.Keys(w.repos)) {
		all := slices.DeleteFunc(slices.Sorted(maps.Keys(w.repos[repository])), func(d digest.Digest) bool { return w.repos[repository][d].isList() })
		d := all[r.IntN(len(all))]
		switch r.IntN(5) {
		case 0:
			w.tags[repository]["mine"] = d
		case 1:
			w.foreign[repository+"@"+string(w.push(repository, newIndex("foreign", d), "myindex"))] = true
		case 2:
			w.foreign[repository+"@"+string(w.push(repository, newImage(d, "foreign")))] = true
		case 3:
			w.foreign[repository+"@"+string(w.push(repository, newImage("", "foreign"), plan.ReferrersTag(d)+".att"))] = true
		}
	}
	return w
}

func (w *world) recorded(t *testing.T) *Recorded {
	t.Helper()
	r := &Recorded{}
	for _, revision := range w.revisions {
		if revision.earlier {
			fail.On(t, r.AddEarlier(revision.Revision, revision.plan, namesOf(revision.plan)))
			continue
		}
		want := func(*plan.Image) bool { return revision.wanted }
		fail.On(t, r.Add(revision.Revision, revision.plan, namesOf(revision.plan), want))
	}
	return r
}

// stays returns the manifests that must stay, computed from what is in the registry: those that wanted
// revisions list, that content of others refers to, and what all of these need.
func (w *world) stays() map[string]bool {
	wanted, known, tags := map[string]bool{}, map[string]bool{}, map[string]bool{} // tags are those that keep an image
	listed := map[string][]digest.Digest{}                                         // the manifests of a tag that revisions list
	belongs := map[string][]string{}
	for _, revision := range w.revisions {
		for _, img := range revision.plan.Images {
			repository := "pre/" + img.Repository
			contents, err := revision.plan.Contents()
			if err != nil {
				panic(err) //nolint:forbidigo // the plan is made by this file
			}
			_ = contents.Walk(img.Digest, func(m *plan.Manifest) error {
				known[repository+"@"+string(m.Digest)] = true
				if revision.wanted {
					wanted[repository+"@"+string(m.Digest)] = true
				}
				return nil
			}, func(plan.Blob) error { return nil })
			names := img.Tags
			if slices.ContainsFunc(names, func(tag string) bool { return plan.IsDigestTag(tag, img.Digest) }) {
				names = append(slices.Clone(names), plan.ReferrersTag(img.Digest))
			}
			for _, tag := range names {
				name := repository + ":" + tag
				listed[name] = append(listed[name], img.Digest)
				tags[name] = tags[name] || revision.wanted && !revision.earlier
			}
			if img.Subject != "" {
				belongs[repository+"@"+string(img.Subject)] = append(belongs[repository+"@"+string(img.Subject)], repository+"@"+string(img.Digest))
				if revision.wanted {
					wanted[repository+"@"+string(img.Subject)] = true
				}
			}
		}
	}
	stay := map[string]bool{}
	var keep func(repository string, d digest.Digest, held bool)
	keep = func(repository string, d digest.Digest, held bool) {
		name := repository + "@" + string(d)
		s := w.repos[repository][d]
		if stay[name] || s == nil {
			return
		}
		stay[name] = true
		if !s.isList() {
			for _, child := range s.children {
				keep(repository, child, held)
			}
		}
		if held {
			for _, other := range belongs[name] {
				_, of, _ := strings.Cut(other, "@")
				keep(repository, digest.Digest(of), held)
			}
		}
	}
	for name := range wanted {
		repository, d, _ := strings.Cut(name, "@")
		keep(repository, digest.Digest(d), false)
	}
	for repository, all := range w.tags {
		for tag, d := range all {
			name := repository + ":" + tag
			_, isList := subjectOfTag(tag)
			isList = isList && !strings.Contains(tag, ".")
			switch {
			case isList && !known[repository+"@"+string(d)]:
			case !slices.Contains(listed[name], d) || tags[name]:
				keep(repository, d, true)
				if subject, ok := subjectOfTag(tag); ok && !slices.Contains(listed[name], d) {
					keep(repository, subject, true)
				}
			}
		}
		for d, s := range w.repos[repository] {
			if w.foreign[repository+"@"+string(d)] && s.subject != "" {
				keep(repository, d, true)
				keep(repository, s.subject, true)
			}
		}
	}
	return stay
}

// check compares what is left with what must stay.
func (w *world) check(t *testing.T, stay map[string]bool, before map[string]bool, complete bool) {
	t.Helper()
	left := map[string]bool{}
	for repository, all := range w.repos {
		for d, s := range all {
			if s.isList() {
				continue // a list of referrers
			}
			left[repository+"@"+string(d)] = true
			for _, child := range s.children {
				if all[child] == nil {
					t.Errorf("%s@%s contains %s, which is gone", repository, d, child)
				}
			}
		}
		for tag, d := range w.tags[repository] {
			if all[d] == nil {
				if w.stops && !complete {
					continue
				}
				t.Errorf("%s:%s names %s, which is gone", repository, tag, d)
				continue
			}
			if all[d].isList() && complete {
				for _, child := range all[d].children {
					if all[child] == nil {
						t.Errorf("%s:%s lists %s, which is gone", repository, tag, child)
					}
				}
			}
		}
	}
	for name := range stay {
		if !left[name] {
			t.Errorf("%s was deleted", name)
		}
	}
	for name := range left {
		if complete && !stay[name] && before[name] {
			t.Errorf("%s was not deleted", name)
		}
	}
}

// TestRandomMirrors prunes random mirrors, interrupted at random requests, also in the middle of one. Nothing is
// deleted that must stay, at no time does anything refer to what is gone, except for tags of the manifest that
// an interrupted request deleted, and in the end nothing else is left.
func TestRandomMirrors(t *testing.T) {
	t.Parallel()
	n := uint64(3000)
	if testing.Short() {
		n = 300
	}
	for seed := range n {
		w := newWorld(seed)
		stay, before := w.stays(), map[string]bool{}
		for repository, all := range w.repos {
			for d := range all {
				before[repository+"@"+string(d)] = true
			}
		}
		w.stops = seed%2 == 0
		interrupted := func(err error) bool { return errors.Is(err, errBudget) }
		for w.budget = w.r.IntN(40); ; w.budget = w.r.IntN(60) {
			if w.r.IntN(4) == 0 {
				w.budget = -1
			}
			unlimited := w.budget < 0
			p, err := Make(t.Context(), w.recorded(t), w, Options{Streams: 1 + w.r.IntN(3), Fatal: interrupted})
			if err == nil {
				var report *Report
				report, err = Execute(t.Context(), p, w, true, Options{Streams: 1 + w.r.IntN(3), Fatal: interrupted})
				if len(report.Failed) > 0 {
					t.Fatalf("seed %d: %v", seed, report.Failed[0].Err)
				}
			}
			if err != nil && !errors.Is(err, errBudget) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.check(t, stay, before, unlimited)
			if t.Failed() {
				for _, k := range p.Kept {
					t.Logf("kept %s@%s: %s", k.Repository, k.Digest, k.Reason)
				}
				t.Fatalf("seed %d, api %t", seed, w.api)
			}
			if unlimited {
				break
			}
		}
		w.budget = -1
		p, err := Make(t.Context(), w.recorded(t), w, Options{})
		if err != nil || !p.Empty() {
			t.Fatalf("seed %d: %v; the next plan has %+v", seed, err, p)
		}
	}
}
