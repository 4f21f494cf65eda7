package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestImagesOfRealPackages checks that every image of real packages is requested once, under the
// reference that it is pulled with, with its reasons.
func TestImagesOfRealPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	const dir = "../../../../shared/catalogs"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real catalogs are not next to the checkout")
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
			ws := newRequestSet()
			named := map[string]bool{}
			for _, b := range c.Packages[0].Bundles {
				if err := ws.addBundle("c", b, nil, false); err != nil {
					t.Fatal(err)
				}
				for _, r := range append(slices.Clone(b.RelatedImages), catalog.RelatedImage{Image: b.Image}) {
					named[r.Image] = true
				}
			}
			delete(named, "")
			got := counts{Empty: ws.empty, Short: len(ws.unqualified)}
			for _, w := range ws.sorted() {
				if len(w.reasons) == 0 || w.reasons[0].Bundle == "" || !slices.IsSortedFunc(w.reasons, plan.CompareReasons) {
					t.Errorf("%s: reasons %+v", w.source, w.reasons)
				}
				switch {
				case w.ref.Tag != "" && w.ref.Digest != "":
					got.Both++
				case w.ref.Tag != "":
					got.Tags++
				default:
					got.Digests++
				}
				if w.kind == plan.BundleImage {
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
				if ws.byKey[requestKey{source: ref.String()}] == nil {
					t.Errorf("%s is not requested", text)
				}
			}
			for _, b := range c.Packages[0].Bundles {
				ref, err := reference.Parse(b.Image)
				if err != nil {
					t.Fatal(err)
				}
				if w := ws.byKey[requestKey{source: ref.String()}]; w == nil || w.kind != plan.BundleImage {
					t.Errorf("the image of bundle %s is not requested as a bundle image: %v", b.Name, w)
				}
			}
		})
	}
}
