package site_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// pinned is a configuration with images referenced only by digest, as in catalogs: single images and indexes.
type pinned struct {
	*mirrortest.Site
	config  string
	images  []digest.Digest // in org/pinned
	indexes []digest.Digest // also in org/pinned
	child   string          // a manifest of the last index
	tagged  int             // number of images referenced by tag, in org/tagged
}

func newPinned(t *testing.T) *pinned {
	t.Helper()
	p := &pinned{Site: mirrortest.New(t, registrytest.Options{}), tagged: 2}
	stanza := "  additionalImages:\n"
	push := func(repository, tag string, content registrytest.Content, err error) digest.Digest {
		t.Helper()
		fail.On(t, err)
		d, err := p.Source.Client().Push(t.Context(), repository, tag, content)
		fail.On(t, err)
		return d
	}
	for i := range 12 {
		content, err := registrytest.Image(fmt.Sprintf("single %d", i))
		p.images = append(p.images, push("org/pinned", fmt.Sprintf("s%d", i), content, err))
	}
	for i := range 3 {
		content, err := registrytest.Index(fmt.Sprintf("index %d", i))
		p.indexes = append(p.indexes, push("org/pinned", fmt.Sprintf("i%d", i), content, err))
		list, err := content.IndexManifest()
		fail.On(t, err)
		p.child = list.Manifests[0].Digest.String()
	}
	for _, d := range p.all() {
		stanza += fmt.Sprintf("  - name: %s/org/pinned@%s\n", p.Source.Host, d)
	}
	for i := range p.tagged {
		content, err := registrytest.Image(fmt.Sprintf("tagged %d", i))
		push("org/tagged", fmt.Sprintf("v%d", i), content, err)
		stanza += fmt.Sprintf("  - name: %s/org/tagged:v%d\n", p.Source.Host, i)
	}
	p.config = p.Config("pinned.yaml", stanza)
	return p
}

func (p *pinned) all() []digest.Digest { return slices.Concat(p.images, p.indexes) }

func (p *pinned) references() int { return len(p.images) + len(p.indexes) + p.tagged }

// again mirrors as a program that starts anew, and returns the report and the number of requests to the mirror for content.
func (p *pinned) again(change ...func(*mirroring.Options)) (*mirror.Report, int) {
	p.T.Helper()
	p.Mirror.ResetLog()
	r := p.Mirrored(p.config, p.Docker(""), append([]func(*mirroring.Options){in(p.Site, "workspace")}, change...)...)
	requests := slices.DeleteFunc(mirrortest.ContentRequests(p.Mirror), func(r registrytest.Request) bool { return r.Kind() == "GET ping" })
	return r.Report, len(requests)
}

// nothing checks that a run copies nothing, with fewer requests than references.
func (p *pinned) nothing(what string, change ...func(*mirroring.Options)) {
	p.T.Helper()
	if r, n := p.again(change...); r.Copied > 0 || n >= p.references() {
		p.T.Errorf("%s: %d requests for %d references: %+v", what, n, p.references(), r)
	}
}

// TestKnownTags checks that a run with nothing new requests few manifests, others in each run, and in another workspace, too.
func TestKnownTags(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p := newPinned(t)
	if _, cold := p.again(); cold <= p.references() {
		t.Fatalf("%d requests for %d references to copy: the log is incomplete", cold, p.references())
	}
	asked := map[string]bool{}
	for run := range 8 {
		p.nothing(fmt.Sprintf("run %d", run)) // one tag list, two tags, six children, and one or two references in turn
		for _, r := range p.Mirror.Log() {
			asked[r.Path[strings.LastIndex(r.Path, "/")+1:]] = true
		}
	}
	for _, d := range p.all() {
		if !asked[plan.DigestTag(d)] {
			t.Errorf("%s was not requested in eight runs", d)
		}
	}
	p.nothing("another workspace", in(p.Site, "other"))

	// Without lists of tags, or without the record in another workspace: one request for each image, one for each child, and
	// four for blobs, beside the list of the first repository.
	want := 1 + p.references() + 2*len(p.indexes) + 4
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusInternalServerError} {
		p.Mirror.Script(registrytest.Rule{Path: "/tags/list$", Action: registrytest.Status(status)})
		if r, n := p.again(func(o *mirroring.Options) { o.Env.RetryTimes = -1 }); r.Copied > 0 || n != want {
			t.Errorf("%d for lists of tags: %d requests, want %d: %+v", status, n, want, r)
		}
	}
	p.Mirror.Script(registrytest.Rule{Path: "image-sets", Action: registrytest.Status(http.StatusForbidden)})
	if r, n := p.again(in(p.Site, "third")); r.Copied > 0 || n != want {
		t.Errorf("without a record: %d requests, want %d: %+v", n, want, r)
	}

	// Another registry at the same address: what the workspace knows is about the previous one.
	empty := registrytest.Memory()
	p.Mirror.Script(registrytest.Rule{Action: func(w http.ResponseWriter, r *http.Request, _ http.Handler) { empty.ServeHTTP(w, r) }})
	if r, _ := p.again(); r.Copied != p.references() {
		t.Errorf("an empty registry: %+v", r)
	}
}

// TestKnownTagsAfterLoss checks that what the workspace knows does not hide what the mirror lost.
func TestKnownTagsAfterLoss(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p := newPinned(t)
	p.again()
	names := func(all ...digest.Digest) (names []string) {
		names = append(names, elements.Map(all, func(d digest.Digest) string { return d.String() })...)
		return names
	}
	for name, lost := range map[string]struct {
		names  []string
		copied int
	}{
		"a manifest":     {names(p.images[3]), 1},
		"many manifests": {names(p.images[4:8]...), 4},
		"a tag":          {[]string{plan.DigestTag(p.images[9])}, 1},
		"an index":       {names(p.indexes[1]), 1},
		"a child":        {[]string{p.child}, 1},
		"everything":     {names(p.all()...), 15},
	} {
		for _, what := range lost.names {
			p.Delete("org/pinned/manifests/" + what)
		}
		if r, _ := p.again(); r.Copied != lost.copied {
			t.Errorf("%s: %+v, want %d images copied", name, r, lost.copied)
		}
		for _, d := range p.all() {
			if _, err := p.Mirror.Client().Pull(t.Context(), "org/pinned", plan.DigestTag(d)); err != nil {
				t.Errorf("%s: the mirror is not complete: %v", name, err)
			}
		}
		p.nothing(name + ", and once more")
	}
}
