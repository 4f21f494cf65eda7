package deletion_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const head = "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\n"

// TestParseFile reads lists of oc mirror.
func TestParseFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":            {head + "items: []\n", ""},
		"tag":              {head + "items:\n- imageName: docker://quay.io/a/b:v1\n  imageReference: docker://mirror.example.com/x/a/b:v1\n  type: generic\n  new: field\n", ""},
		"digest":           {head + "items:\n- imageReference: docker://mirror.example.com/x@" + string(digest.FromString("x")) + "\n", ""},
		"no tag":           {head + "items:\n- imageReference: docker://mirror.example.com/x/a/b\n", "neither a tag nor a digest"},
		"no reference":     {head + "items:\n- imageName: docker://quay.io/a/b:v1\n", "item 1: imageReference"},
		"other digest":     {head + "items:\n- imageReference: docker://mirror.example.com/x:v1\n  digest: sha256:12\n", "malformed"},
		"configuration":    {"apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageSetConfiguration\n", "the configuration and not the list"},
		"no text":          {"", "it has no kind"},
		"another document": {"apiVersion: v1\nkind: List\n", "and not DeleteImageList"},
		"no document":      {"- 1\n", "not a list of images"},
	} {
		_, err := deletion.ParseFile([]byte(tc.text))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestFile writes a list and reads it back. If its items are changed, what Gantry added is not used.
func TestFile(t *testing.T) {
	t.Parallel()
	choice := deletion.Listed(sample(), nothing)
	choice.Bundles[deletion.Bundle{Catalog: index, Package: "foo", Name: "foo.v1"}] = true
	choice.Bundles[deletion.Bundle{Catalog: index, Package: "foo", Name: "foo.v2"}] = false
	choice.Releases["4.19.1 amd64"], choice.Graph = true, true
	f := &deletion.File{Removes: map[string]*deletion.Choice{"ocp": choice}}
	for _, name := range []string{"b", "a"} {
		ref, err := reference.Parse("mirror.example.com:5000/x/" + name + ":v1")
		fail.On(t, err)
		f.Items = append(f.Items, deletion.Item{Source: "docker://quay.io/" + name + ":v1", Image: ref, Type: "generic", Digest: digest.FromString(name)})
	}
	text, err := f.Write()
	fail.On(t, err)
	got, err := deletion.ParseFile(text)
	fail.On(t, err)
	delete(choice.Bundles, deletion.Bundle{Catalog: index, Package: "foo", Name: "foo.v2"}) // it stays
	f.Items[0], f.Items[1] = f.Items[1], f.Items[0]
	if diff := cmp.Diff(f, got, cmpopts.IgnoreUnexported(deletion.Choice{})); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
	got, err = deletion.ParseFile([]byte(strings.Replace(string(text), "docker://quay.io/b:v1", "docker://quay.io/b:v2", 1)))
	if err != nil || !got.Edited || got.Removes != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzParseFile checks that what is accepted is read back as it was after it is written.
func FuzzParseFile(f *testing.F) {
	f.Add(head + "items:\n- imageName: docker://quay.io/a/b:v1\n  imageReference: docker://mirror.example.com/x/a/b:v1\n  type: generic\n")
	f.Add(head + "items: []\ngantry:\n  itemsDigest: " + string(digest.FromString("")) + "\n  removes:\n  - imageSet: a\n    bundles:\n    - {catalog: c, package: p, names: [n]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := deletion.ParseFile([]byte(text))
		if err != nil {
			return
		}
		first.Edited = false
		once, err := first.Write()
		if err != nil {
			t.Skip(err)
		}
		again, err := deletion.ParseFile(once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		twice, err := again.Write()
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}
