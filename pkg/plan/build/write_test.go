package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestWrite checks that writing entry by entry gives the same text as encoding/json.
func TestWrite(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.index("amd64", "s390x"))
	w.push("quay.io/org/b:v1", w.image("base", "<b>"))
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.image("b0"))})
	whole := w.makePlan(`  operators:
  - catalog: dir:///cat
  additionalImages:
  - name: quay.io/org/a:v1
  - name: quay.io/org/b:v1
  - name: quay.io/org/gone:v1
  - name: quay.io/org/blocked:v1
  blockedImages:
  - name: blocked
archiveSize: 4
`)
	if len(whole.Missing) != 1 || len(whole.Blocked) != 1 || len(whole.Catalogs) != 1 || whole.ArchiveSize != 4 {
		t.Fatalf("the plan is incomplete: %+v", whole)
	}
	whole.Notes = append(whole.Notes, "a <note> & more")
	for name, p := range map[string]*plan.Plan{
		"whole": whole,
		"empty": {Kind: plan.Kind, Version: plan.Version, Images: []plan.Image{}, Manifests: []plan.Manifest{}, Blobs: []plan.Blob{}},
		"zero":  {},
	} {
		t.Run(name, func(t *testing.T) {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			fail.On(t, enc.Encode(p))
			fail.Diff(t, want.String(), string(jsonOf(t, p)))
		})
	}
}

func TestWriteError(t *testing.T) {
	full := errors.New("the disk is full")
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/a:v1'}]\n")
	r, out := io.Pipe()
	fail.On(t, r.CloseWithError(full))
	fail.Diff(t, full, p.Write(out), cmpopts.EquateErrors())
}

// TestReadFieldsInAnyOrder checks that the order of the fields does not matter, since an editor may
// change it.
func TestReadFieldsInAnyOrder(t *testing.T) {
	w := newFixture(t)
	w.push("quay.io/org/a:v1", w.image("a"))
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/a:v1'}]\n")
	var fields map[string]json.RawMessage // which encoding/json writes by name
	fail.On(t, json.Unmarshal(jsonOf(t, p), &fields))
	text, err := json.Marshal(fields)
	fail.On(t, err)
	if !strings.HasPrefix(string(text), `{"blobs":`) {
		t.Fatalf("the text begins with %.20s", text)
	}
	got, err := plan.Read(bytes.NewReader(text))
	fail.On(t, err)
	fail.Diff(t, p, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(plan.Missing{}))
}
