package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// signedFixture is a fixture whose repositories list tags and referrers.
type signedFixture struct {
	*fixture
	api      bool // the sources have the referrers API
	pageSize int
	tagError error
	// referrers has the lists of the API, by repository and subject.
	referrers map[string][]ocispec.Descriptor

	mu       sync.Mutex
	requests map[string]int // of tags and referrers
}

func newSignedFixture(t *testing.T, api bool) *signedFixture {
	return &signedFixture{fixture: newFixture(t), api: api, pageSize: 1000, referrers: map[string][]ocispec.Descriptor{}, requests: map[string]int{}}
}

func (w *signedFixture) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[what]++
}

func (w *signedFixture) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d == "" && strings.Contains(source, ":sha256-") {
		w.count("named")
	}
	return w.fixture.Manifest(ctx, source, d)
}

func (w *signedFixture) TagPages(_ context.Context, source, after string, see func([]string) bool) (bool, error) {
	ref, err := reference.Parse(source)
	if err != nil || w.tagError != nil {
		return false, errors.Join(err, w.tagError)
	}
	var tags []string
	for name := range w.tags {
		if tag, ok := strings.CutPrefix(name, ref.Name()+":"); ok && tag > after {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	for {
		n := min(len(tags), w.pageSize)
		w.count("pages")
		more := see(tags[:n])
		if tags = tags[n:]; len(tags) == 0 || !more {
			return len(tags) == 0, nil
		}
	}
}

func (w *signedFixture) Referrers(_ context.Context, source string, subject digest.Digest) ([]ocispec.Descriptor, bool, error) {
	w.count("referrers")
	ref, err := reference.Parse(source)
	if !w.api || err != nil {
		return nil, false, err
	}
	return w.referrers[ref.Name()+"@"+subject.String()], true, nil
}

func (w *signedFixture) ParseReferrers(raw []byte) ([]ocispec.Descriptor, error) {
	var index ocispec.Index
	err := json.Unmarshal(raw, &index)
	return index.Manifests, err
}

func (w *signedFixture) sources() Sources {
	return Sources{Images: w, Files: w.fixture, Store: w.fixture, Attachments: w}
}

func (w *signedFixture) plan(text string, opts ...Options) *plan.Plan {
	w.t.Helper()
	p, err := Plan(w.t.Context(), parseConfig(w.t, text), "imageset", w.sources(), append(opts, Options{})[0])
	fail.On(w.t, err)
	return p
}

// sign adds an image with a cosign tag.
func (w *signedFixture) sign(repository string, subject digest.Digest, ending string) ocispec.Descriptor {
	desc := w.image("signature of " + subject.String() + ending)
	w.push(repository+":sha256-"+subject.Encoded()+ending, desc)
	return desc
}

// referrer makes a manifest that refers to a subject, which is listed nowhere.
func (w *signedFixture) referrer(repository string, subject digest.Digest, text string) ocispec.Descriptor {
	config := w.put(ocispec.MediaTypeEmptyJSON, []byte("{}"))
	desc := w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "artifactType": "a/b", "config": config,
		"layers":  []ocispec.Descriptor{w.put("text/plain", []byte(text))},
		"subject": ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: subject, Size: 1},
	})
	if repository != "" {
		w.push(repository, desc)
	}
	return desc
}

// list lists referrers of a subject, by the API or by the tag.
func (w *signedFixture) list(repository string, subject digest.Digest, all ...ocispec.Descriptor) {
	if w.api {
		w.referrers[repository+"@"+subject.String()] = all
		return
	}
	index := w.json(ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: all})
	w.repos[repository][index.Digest] = true
	w.tags[repository+":sha256-"+subject.Encoded()] = index.Digest
}

// attached returns what belongs to other images in a plan, as "kind repository name".
func attached(p *plan.Plan) []string {
	all := []string{}
	for _, img := range p.Images {
		if img.Subject != "" {
			all = append(all, fmt.Sprintf("%s %s", img.Kind, img.Names()[0]))
		}
	}
	slices.Sort(all)
	return all
}
