package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// pinned is a configuration with images referenced only by digest, as in catalogs: single images
// and indexes.
type pinned struct {
	*fixture
	config  string
	images  []digest.Digest // in org/pinned
	indexes []digest.Digest // also in org/pinned
	tagged  int             // number of images referenced by tag, in org/tagged
}

func newPinned(t *testing.T) *pinned {
	p := &pinned{fixture: newFixture(t, registrytest.Options{}), tagged: 2}
	source := p.source.Client()
	stanza := "  additionalImages:\n"
	push := func(repository, tag string, content registrytest.Content, err error) digest.Digest {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		d, err := source.Push(t.Context(), repository, tag, content)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range 12 {
		content, err := registrytest.Image(fmt.Sprintf("single %d", i))
		p.images = append(p.images, push("org/pinned", fmt.Sprintf("s%d", i), content, err))
	}
	for i := range 3 {
		content, err := registrytest.Index(fmt.Sprintf("index %d", i))
		p.indexes = append(p.indexes, push("org/pinned", fmt.Sprintf("i%d", i), content, err))
	}
	for _, d := range append(p.images, p.indexes...) {
		stanza += fmt.Sprintf("  - name: %s/org/pinned@%s\n", p.source.Host, d)
	}
	for i := range p.tagged {
		content, err := registrytest.Image(fmt.Sprintf("tagged %d", i))
		push("org/tagged", fmt.Sprintf("v%d", i), content, err)
		stanza += fmt.Sprintf("  - name: %s/org/tagged:v%d\n", p.source.Host, i)
	}
	p.config = p.fixture.config("pinned.yaml", stanza)
	return p
}

func (p *pinned) references() int { return len(p.images) + len(p.indexes) + p.tagged }

// again mirrors and returns the output and the number of requests to the mirror.
func (p *pinned) again(args ...string) (string, int) {
	p.t.Helper()
	p.mirror.ResetLog()
	o := p.must(append([]string{"mirror", "-c", p.config, p.docker("")}, args...)...)
	n := 0
	for kind, times := range contentRequests(p.mirror) {
		if kind != "GET ping" {
			n += times
		}
	}
	return o.stdout, n
}

// delete deletes a manifest or blob through the registry's API.
func (p *pinned) delete(repository, what string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodDelete, "http://"+p.mirror.Host+"/v2/"+repository+"/manifests/"+what, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		p.t.Fatalf("deleting %s of %s: %s", what, repository, resp.Status)
	}
}

// child returns the first manifest in an index.
func (p *pinned) child(d digest.Digest) string {
	p.t.Helper()
	for name := range 3 {
		index, err := registrytest.Index(fmt.Sprintf("index %d", name))
		if err != nil {
			p.t.Fatal(err)
		}
		if have, err := index.Digest(); err != nil || have.String() != d.String() {
			continue
		}
		list, err := index.IndexManifest()
		if err != nil {
			p.t.Fatal(err)
		}
		return list.Manifests[0].Digest.String()
	}
	p.t.Fatalf("there is no index %s", d)
	return ""
}

func tagOf(d digest.Digest) string { return plan.DigestTag(d) }

func TestReceiptSavesRequests(t *testing.T) {
	t.Parallel()
	long(t)
	p := newPinned(t)
	_, cold := p.again()
	if cold <= p.references() {
		t.Fatalf("%d requests for %d references to copy: the log is incomplete", cold, p.references())
	}
	asked := map[string]bool{}
	for turn := range 8 {
		out, n := p.again()
		// One tag list, two tags, six children, and one or two references that are checked in turn.
		if !strings.HasPrefix(out, "Nothing to copy") || n >= p.references() {
			t.Errorf("run %d: %d requests at the mirror for %d references:\n%s%v", turn, n, p.references(), out, contentRequests(p.mirror))
		}
		for _, r := range p.mirror.Log() {
			asked[r.Path[strings.LastIndex(r.Path, "/")+1:]] = true
		}
	}
	for _, d := range append(p.images, p.indexes...) {
		if !asked[tagOf(d)] {
			t.Errorf("%s was not requested in eight runs", tagOf(d))
		}
	}
	// Another workspace knows what is present from the record in the mirror.
	if out, n := p.again("--workspace", p.path("other")); !strings.HasPrefix(out, "Nothing to copy") || n >= p.references() {
		t.Errorf("%d requests from another workspace:\n%s", n, out)
	}
	// Without the record, it lists the tags of the first repository, and sends one request for each image, one
	// for each child, and four for blobs.
	p.mirror.Script(registrytest.Rule{Path: "image-sets", Action: registrytest.Status(http.StatusForbidden)})
	if out, n := p.again("--workspace", p.path("third")); !strings.HasPrefix(out, "Nothing to copy") || n != 1+p.references()+2*len(p.indexes)+4 {
		t.Errorf("%d requests without a receipt:\n%s", n, out)
	}
}

func TestReceiptDoesNotHideWhatTheMirrorLost(t *testing.T) {
	t.Parallel()
	long(t)
	p := newPinned(t)
	p.again()
	for _, tc := range []struct {
		name   string
		lose   func()
		copied int
	}{
		{"a manifest", func() { p.delete("org/pinned", p.images[3].String()) }, 1},
		{"many manifests", func() {
			for _, d := range p.images[4:8] {
				p.delete("org/pinned", d.String())
			}
		}, 4},
		{"a tag", func() { p.delete("org/pinned", tagOf(p.images[9])) }, 1},
		{"an index", func() { p.delete("org/pinned", p.indexes[1].String()) }, 1},
		{"a child", func() { p.delete("org/pinned", p.child(p.indexes[2])) }, 1},
		{"everything", func() {
			for _, d := range append(p.images, p.indexes...) {
				p.delete("org/pinned", d.String())
			}
		}, 15},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.t = t
			tc.lose()
			out, _ := p.again()
			if want := fmt.Sprintf(": %d image", tc.copied); !strings.HasPrefix(out, "Mirrored to ") || !strings.Contains(out, want) {
				t.Errorf("want %d images copied:\n%s", tc.copied, out)
			}
			for _, d := range append(p.images, p.indexes...) {
				if _, err := p.mirror.Client().Pull(t.Context(), "org/pinned", tagOf(d)); err != nil {
					t.Errorf("the mirror is not complete: %v", err)
				}
			}
			if out, n := p.again(); !strings.HasPrefix(out, "Nothing to copy") || n >= p.references() {
				t.Errorf("%d requests once more:\n%s", n, out)
			}
		})
	}
}

func TestReceiptOfEmptiedRegistry(t *testing.T) {
	t.Parallel()
	long(t)
	p := newPinned(t)
	p.again()
	// Another registry at the same address: the receipt in the workspace is about the previous one.
	empty := registrytest.Memory()
	p.mirror.Script(registrytest.Rule{Action: func(w http.ResponseWriter, r *http.Request, _ http.Handler) { empty.ServeHTTP(w, r) }})
	out, _ := p.again()
	if want := fmt.Sprintf("%d images copied, 0 already present", p.references()); !strings.Contains(out, want) {
		t.Errorf("want %s:\n%s", want, out)
	}
}

// TestReceiptWithoutListsOfTags checks that a registry that does not list tags gets the same
// requests as without a receipt.
func TestReceiptWithoutListsOfTags(t *testing.T) {
	t.Parallel()
	long(t)
	p := newPinned(t)
	p.again()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			p.t = t
			p.mirror.Script(registrytest.Rule{Path: "/tags/list$", Action: registrytest.Status(status)})
			out, n := p.again("--retry-times", "0")
			if want := p.references() + 2*len(p.indexes) + 1 + 4; !strings.HasPrefix(out, "Nothing to copy") || n != want {
				t.Errorf("%d requests, want %d:\n%s%v", n, want, out, contentRequests(p.mirror))
			}
		})
	}
}
