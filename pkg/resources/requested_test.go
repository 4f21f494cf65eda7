package resources

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// requestedFiles are the manifests for one operator image, one tagged image and a catalog.
func requestedFiles(t *testing.T) (images []Image, files []File) {
	t.Helper()
	one := digest.FromString("one")
	images = []Image{
		{Source: mustParse(t, "quay.io/acme/a@"+one.String()), Mirror: mustParse(t, "mirror.example.com/ocp/acme/a:x@"+one.String()), Kind: "operator"},
		{Source: mustParse(t, "docker.io/library/b:v1"), Mirror: mustParse(t, "mirror.example.com/ocp/library/b:v1@"+one.String()), Kind: "generic"},
	}
	files, notes, err := Build(images, []Catalog{{Source: "quay.io/acme/index:v1", Mirror: mustParse(t, "mirror.example.com/ocp/acme/index:v1@"+one.String())}}, Options{})
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	signed, err := BuildPlatform(Platform{Signatures: []Signed{{Digest: one, Signatures: [][]byte{{1}, {2}}}}, Releases: mustParse(t, "mirror.example.com/ocp/releases"), GraphData: mustParse(t, "mirror.example.com/ocp/graph@"+one.String())})
	fail.On(t, err)
	return images, append(files, signed...)
}

func mustParse(t *testing.T, text string) reference.Reference {
	t.Helper()
	ref, err := reference.Parse(text)
	fail.On(t, err)
	return ref
}

func TestReadRequested(t *testing.T) {
	t.Parallel()
	images, files := requestedFiles(t)
	r := ReadRequested(files)
	roles := map[RequestedRole]int{}
	for _, i := range r.Images {
		roles[i.Role]++
	}
	if roles[RequestedCatalog] != 2 || roles[RequestedGraphData] != 1 || roles[RequestedReleases] != 1 || len(r.Unreadable) > 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Signatures) != 1 || r.Signatures[0].Digest != digest.FromString("one") || len(r.Signatures[0].Bodies) != 2 {
		t.Errorf("signatures: %+v", r.Signatures)
	}
	if lost, err := r.Unredirected(images); err != nil || len(lost) > 0 {
		t.Errorf("%v %v", lost, err)
	}
	for _, tc := range []struct{ without, lost, words string }{
		{"idms-", "quay.io/acme/a@" + digest.FromString("one").String(), "lead to"},
		{"itms-", "docker.io/library/b:v1", "no mirror set has"},
	} {
		rest := elements.Filter(files, func(f File) bool { return !strings.HasPrefix(f.Name, tc.without) })
		lost, err := ReadRequested(rest).Unredirected(images)
		if err != nil || len(lost) != 1 || lost[0].Name != tc.lost {
			t.Errorf("without %s: %v %v", tc.without, lost, err)
		}
	}
	broken := ReadRequested([]File{{Name: "x.yaml", Text: []byte("kind: [")}, {Name: "y.yaml", Text: []byte("kind: CatalogSource\nmetadata: {name: x}\nspec: {image: 1}\n")}})
	if len(broken.Unreadable) != 2 {
		t.Errorf("%+v", broken)
	}
}

func TestUnredirectedBy(t *testing.T) {
	t.Parallel()
	images, _ := requestedFiles(t)
	lost, err := UnredirectedBy(images, func(ref reference.Reference) ([]string, error) {
		if ref.Digest != "" {
			return []string{"mirror.example.com/ocp/acme/a", ref.Name()}, nil
		}
		return []string{ref.Name()}, nil
	})
	if err != nil || len(lost) != 1 || lost[0].Name != "docker.io/library/b:v1" || !strings.Contains(lost[0].Problem, "docker.io/library/b") {
		t.Errorf("%v %v", lost, err)
	}
}

// FuzzReadRequested reads any text, and finds as many objects in it as ObjectNames or an error.
func FuzzReadRequested(f *testing.F) {
	for _, text := range []string{
		"kind: ImageDigestMirrorSet\nmetadata: {name: a}\nspec: {imageDigestMirrors: [{source: a.io/b, mirrors: [c.io/d]}]}\n",
		"kind: ClusterCatalog\nmetadata: {name: a}\nspec: {source: {image: {ref: a.io/b:v1}}}\n",
		"kind: CatalogSource\nmetadata: {name: a}\nspec: {source: x, image: y}\n", "kind: ConfigMap\nmetadata: {name: a}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := ReadRequested([]File{{Name: "x.yaml", Text: text}})
		named := len(ObjectNames([]File{{Name: "x.yaml", Text: text}}))
		for _, i := range r.Images {
			if named == 0 || i.Image == "" || i.Object.Name == "" {
				t.Errorf("%+v in %q", i, text)
			}
		}
	})
}
