package resources

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestOCMirrorFiles checks that the files in the layout of oc mirror have the same objects, except for
// the ConfigMap with all signatures, in which each signature is found.
func TestOCMirrorFiles(t *testing.T) {
	images, catalogs := example(t)
	catalogs = slices.DeleteFunc(catalogs, func(c Catalog) bool { return strings.Contains(c.Source, "redhat") })
	for n, wantMaps := range map[int]int{0: 0, 3: 1, 400: 4} {
		files, _, err := Build(images, catalogs, Options{MaxBytes: 300})
		fail.On(t, err)
		p := Platform{Releases: reference.Reference{Host: "m.local", Path: "releases"}, GraphData: ref(t, "m.local/graph:latest#g")}
		for i := range n {
			body := make([]byte, 1000)
			_, err = rand.Read(body)
			fail.On(t, err)
			p.Signatures = append(p.Signatures, Signed{digest.FromString(fmt.Sprint(i)), [][]byte{body, body[:500]}})
		}
		more, err := BuildPlatform(p)
		fail.On(t, err)
		files = append(files, more...)
		got, err := OCMirrorFiles(files)
		fail.On(t, err)
		want := []string{"cc-our-catalog-latest.yaml", "cs-our-catalog-latest.yaml",
			"idms-oc-mirror.yaml", "itms-oc-mirror.yaml", "signature-configmap.json", "signature-configmap.yaml", "updateService.yaml"}
		if n == 0 {
			want = append(want[:4:4], want[6])
		}
		names := FileNames(got)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%d signatures: %s", n, diff)
		}
		maps := 0
		var others []ObjectName
		for _, o := range ObjectNames(got) {
			if o.Kind == "ConfigMap" {
				maps++
				continue
			}
			others = append(others, o)
		}
		before := elements.Filter(ObjectNames(files), func(o ObjectName) bool { return o.Kind != "ConfigMap" })
		if diff := cmp.Diff(before, others); diff != "" || maps != wantMaps {
			t.Errorf("%d signatures are in %d ConfigMaps; other objects: %s", n, maps, diff)
		}
		for _, f := range got {
			if f.Name != OCMirrorSignatures {
				continue
			}
			for i, s := range p.Signatures {
				if i%57 != 0 && i != len(p.Signatures)-1 { // each reads the whole file
					continue
				}
				if bodies, err := ReadSignatures(f.Text, s.Digest); err != nil || !slices.EqualFunc(bodies, s.Signatures, bytes.Equal) {
					t.Fatalf("of %d: the signatures of %s are %d, %v", n, s.Digest, len(bodies), err)
				}
			}
		}
	}
}
