package plan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// What real packages name as images: every one of them is asked for once, by what
// it is pulled with, and says who wants it.
func TestImagesOfRealPackages(t *testing.T) {
	const dir = "../../shared/catalogs"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there are no real catalogs beside the checkout")
	}
	type counts struct{ Empty, Short, Bundles, Tags, Digests, Both int }
	for pkg, want := range map[string]counts{
		"3scale-community-operator": {Empty: 6, Short: 4, Bundles: 9, Tags: 34},
		"eda-k8s-operator":          {Bundles: 5, Digests: 11},
		"gpu-operator-certified":    {Bundles: 34, Digests: 309, Both: 36},
		"trident-operator":          {Bundles: 12, Tags: 21, Digests: 3},
		"rabbitmq-cluster-operator": {Short: 1, Bundles: 26, Tags: 31, Digests: 21},
		"kube-green":                {Short: 2, Bundles: 10, Tags: 15, Digests: 10},
	} {
		t.Run(pkg, func(t *testing.T) {
			c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(dir, pkg)), catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ws := newWishes()
			named := map[string]bool{}
			for _, b := range c.Packages[0].Bundles {
				if err := ws.addBundle("c", b, nil); err != nil {
					t.Fatal(err)
				}
				for _, r := range append(slices.Clone(b.RelatedImages), catalog.RelatedImage{Image: b.Image}) {
					named[r.Image] = true
				}
			}
			delete(named, "")
			got := counts{Empty: ws.empty, Short: len(ws.short)}
			for _, w := range ws.sorted() {
				if len(w.because) == 0 || w.because[0].Bundle == "" || !slices.IsSortedFunc(w.because, compareBecause) {
					t.Errorf("%s: wanted by %+v", w.source, w.because)
				}
				switch {
				case w.ref.Tag != "" && w.ref.Digest != "":
					got.Both++
				case w.ref.Tag != "":
					got.Tags++
				default:
					got.Digests++
				}
				if w.kind == BundleImage {
					got.Bundles++
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			for text := range named {
				ref, err := reference.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if ref.Identifier() == "" {
					ref.Tag = "latest"
				}
				if ws.byKey[wishKey{source: ref.String()}] == nil {
					t.Errorf("%s is not asked for", text)
				}
			}
			for _, b := range c.Packages[0].Bundles {
				ref, err := reference.Parse(b.Image)
				if err != nil {
					t.Fatal(err)
				}
				if w := ws.byKey[wishKey{source: ref.String()}]; w == nil || w.kind != BundleImage {
					t.Errorf("the image of %s is not asked for as that of a bundle: %v", b.Name, w)
				}
			}
		})
	}
}
