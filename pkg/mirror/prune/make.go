package prune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// Options are options of Make and Execute.
type Options struct {
	// Streams is how many requests are made at the same time; 0 means 8.
	Streams int
	// Fatal reports whether an error concerns every repository, so that it ends the call. Nil means that
	// every error does.
	Fatal func(error) bool
	// TagsFirst deletes the tags of a manifest before it: the registry keeps them otherwise. Execute only.
	TagsFirst bool
	// Progress is called after each repository that Make looked at, or each deletion of Execute, by one
	// goroutine at a time.
	Progress func(done, all int)
}

func (o Options) streams() int {
	if o.Streams > 0 {
		return o.Streams
	}
	return 8
}

func (o Options) fatal(err error) bool { return o.Fatal == nil || o.Fatal(err) }

// A maker makes a plan.
type maker struct {
	recorded *Recorded
	registry Reader
	streams  int
	noAPI    atomic.Bool // the registry does not have the referrers API
	mu       sync.RWMutex
}

// content returns what a manifest contains, nil if it is unknown.
func (m *maker) content(d digest.Digest) *content {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.recorded.contents[d]
}

func (m *maker) add(d digest.Digest, c *content) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded.contents[d] = c
}

// parse reads a manifest. It adds the sizes of its blobs.
func (m *maker) parse(mediaType string, raw []byte) (*content, digest.Digest, error) {
	var parts struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
		Subject   *ocispec.Descriptor  `json:"subject"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, "", fmt.Errorf("the manifest is not JSON: %w", err)
	}
	c := &content{mediaType: mediaType, size: int64(len(raw))}
	if manifest.IsIndex(mediaType) {
		for _, d := range parts.Manifests {
			if d.Digest.Validate() != nil {
				return nil, "", fmt.Errorf("the index lists the digest %.100q", d.Digest)
			}
			c.children = append(c.children, d.Digest)
		}
	}
	if parts.Config != nil {
		parts.Layers = append(parts.Layers, *parts.Config)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range parts.Layers {
		c.blobs = append(c.blobs, b.Digest)
		if _, ok := m.recorded.blobs[b.Digest]; !ok {
			m.recorded.blobs[b.Digest] = b.Size
		}
	}
	if parts.Subject != nil {
		return c, parts.Subject.Digest, nil
	}
	return c, "", nil
}

// Make returns what can be deleted of the content that no revision needs. It changes nothing in the registry,
// and uses up r. Repositories with an error that is not fatal keep everything. The result has neither
// mirror, records nor revisions; see [DeletionPlan.Revisions].
func Make(ctx context.Context, r *Recorded, registry Reader, o Options) (*DeletionPlan, error) {
	m := &maker{recorded: r, registry: registry, streams: o.streams()}
	r.wantSubjects()
	surveys := elements.Map(r.unwanted(), func(repo *repository) *survey { return newSurvey(repo, m) })
	failed := make([]error, len(surveys))
	var done int
	var mu sync.Mutex
	g, surveying := errgroup.WithContext(ctx)
	g.SetLimit(m.streams)
	for i, s := range surveys {
		g.Go(func() error {
			if surveying.Err() != nil {
				return context.Cause(surveying)
			}
			err := s.run(surveying)
			if err != nil && (surveying.Err() != nil || o.fatal(err)) {
				return err
			}
			failed[i] = err
			mu.Lock()
			defer mu.Unlock()
			if done++; o.Progress != nil {
				o.Progress(done, len(surveys))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	p := &DeletionPlan{Kind: Kind, Version: Version, Records: []string{}}
	for i, s := range surveys {
		if err := failed[i]; err != nil {
			s.present = map[digest.Digest]bool{}
			s.tags, s.held = nil, map[digest.Digest]string{}
			for d := range s.manifests {
				s.hold(d, "the repository cannot be read")
			}
			p.Kept = append(p.Kept, Kept{Repository: s.path, Reason: "the repository cannot be read: " + err.Error(), LastWanted: s.lastWanted()})
			continue
		}
		s.addTo(p)
	}
	elements.Sort(p.Manifests, compareManifests)
	m.countBytes(p, surveys)
	p.sort()
	return p, nil
}

// lastWanted returns the revision of an unwanted manifest or tag of the repository.
func (s *survey) lastWanted() Revision {
	for _, d := range slices.Sorted(maps.Keys(s.manifests)) {
		if at := s.manifests[d]; !at.wanted {
			return at.revision.orNone()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.repository.tags)) {
		if t := s.repository.tags[name]; !t.wanted {
			return t.revision.orNone()
		}
	}
	return Revision{}
}

// publishedStep is the step of catalogs and releases that clusters see: what they name stays until these are gone.
const publishedStep = 0

// attachmentStep is the step of signatures and other referrers. What belongs to these follows, until
// maxStep: tags may say that two images belong to each other.
const (
	attachmentStep = 20
	maxStep        = 50
)

// addTo adds the repository to a plan.
func (s *survey) addTo(p *DeletionPlan) {
	p.Tags = append(p.Tags, s.tags...)
	tags := map[digest.Digest][]string{}
	for tag, d := range s.at {
		tags[d] = append(tags[d], tag)
	}
	steps := s.steps()
	for d, step := range steps {
		at := s.manifests[d]
		if at.publishable && step == 1 && len(tags[d]) > 0 {
			step = publishedStep
		}
		slices.Sort(tags[d])
		p.Manifests = append(p.Manifests, Manifest{
			Repository: s.path, Digest: d, Tags: tags[d], Source: at.source, Subject: at.subject, Step: step, LastWanted: at.revision.orNone(),
		})
	}
	for d, reason := range s.held {
		if s.present[d] {
			p.Kept = append(p.Kept, Kept{Repository: s.path, Digest: d, Reason: reason, LastWanted: s.manifests[d].revision.orNone(), Published: s.manifests[d].publishable && len(tags[d]) > 0})
		}
	}
	for subject, list := range s.lists {
		gone := elements.Filter(list, func(d digest.Digest) bool { return s.candidate(d) != nil && s.held[d] == "" })
		if slices.Sort(gone); len(gone) > 0 {
			p.Lists = append(p.Lists, List{Repository: s.path, Subject: subject, Remove: gone})
		}
	}
}

// steps returns the manifests to delete, with their steps: an index comes before what it contains, and
// what belongs to an image after that image.
func (s *survey) steps() map[digest.Digest]int {
	steps := map[digest.Digest]int{}
	for d := range s.present {
		if s.held[d] == "" {
			steps[d] = 1
		}
	}
	for changed := true; changed; {
		changed = false
		for d, step := range steps {
			if c := s.maker.content(d); c != nil {
				for _, child := range c.children {
					if old, ok := steps[child]; ok && old <= step && step < maxStep {
						steps[child], changed = step+1, true
					}
				}
			}
			at := s.manifests[d]
			if at.subject == "" || step >= maxStep {
				continue
			}
			want := attachmentStep
			if of, ok := steps[at.subject]; ok {
				want = max(want, of+1)
			}
			if step < want {
				steps[d], changed = want, true
			}
		}
	}
	return steps
}

// countBytes sets how much of each deleted manifest nothing else refers to. Manifests are in order.
func (m *maker) countBytes(p *DeletionPlan, surveys []*survey) {
	used := map[digest.Digest]bool{}
	use := func(d digest.Digest, c *content) {
		if used[d] || c == nil {
			return
		}
		used[d] = true
		for _, b := range c.blobs {
			used[b] = true
		}
	}
	for _, repo := range m.recorded.repositories {
		for d, at := range repo.manifests {
			if at.wanted {
				use(d, m.recorded.contents[d])
			}
		}
	}
	for _, s := range surveys {
		for d := range s.held {
			use(d, m.recorded.contents[d])
		}
		for d, c := range s.unknown {
			use(d, c)
		}
	}
	for i := range p.Manifests {
		at := &p.Manifests[i]
		c := m.recorded.contents[at.Digest]
		if c == nil || used[at.Digest] {
			continue
		}
		used[at.Digest] = true
		at.Bytes = c.size
		for _, b := range c.blobs {
			if !used[b] {
				used[b] = true
				at.Bytes += m.recorded.blobs[b]
			}
		}
	}
}

// errStopped is the error of what was not deleted because something else in the repository was not.
var errStopped = errors.New("something that refers to it could not be deleted")
