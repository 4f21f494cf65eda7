package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// nestedIndexes returns manifests that a walk from the first one visits many times: each index of a level lists all
// indexes of the next.
func nestedIndexes(levels, width int) (root digest.Digest, all []Manifest) {
	name := func(level, n int) digest.Digest { return digest.FromString(fmt.Sprint(level, "/", n)) }
	for level := range levels {
		for n := range width {
			m := Manifest{Digest: name(level, n), Size: 100, MediaType: ocispec.MediaTypeImageIndex}
			for child := range width {
				if level+1 < levels {
					m.Manifests = append(m.Manifests, name(level+1, child))
				}
			}
			all = append(all, m)
		}
	}
	return name(0, 0), all
}

// TestHostilePlans checks that plans of a few kilobytes do not take hours to check.
func TestHostilePlans(t *testing.T) {
	root, nested := nestedIndexes(MaxDepth, 40)
	one := Manifest{Digest: digest.FromString("one"), Size: 100, MediaType: ocispec.MediaTypeImageManifest}
	image := func(i int, d digest.Digest) Image {
		return Image{Source: fmt.Sprintf("quay.io/a/%07d:v1", i), Kind: AdditionalImage, Digest: d, Repository: "a/b", Tags: []string{fmt.Sprint("v", i)}, Size: 100}
	}
	shared := &Plan{Manifests: []Manifest{{Digest: root, Size: 100, MediaType: ocispec.MediaTypeImageIndex, Manifests: []digest.Digest{one.Digest}}, one}}
	for range 200_000 {
		shared.Manifests[0].Manifests = append(shared.Manifests[0].Manifests, one.Digest)
	}
	for i := range 10_000 {
		img := image(i, root)
		img.Size = 200
		shared.Images = append(shared.Images, img)
	}
	catalogs := &Plan{Manifests: []Manifest{one}}
	for i := range 30_000 {
		catalogs.Images = append(catalogs.Images, image(i, one.Digest))
		catalogs.Catalogs = append(catalogs.Catalogs, Catalog{Source: fmt.Sprintf("quay.io/c/%07d:v1", i), Digest: one.Digest})
	}
	for i := range catalogs.Catalogs {
		img := image(100_000+i, one.Digest)
		img.Kind, img.Catalog = CatalogImage, catalogs.Catalogs[i].Name()
		catalogs.Images = append(catalogs.Images, img)
	}
	for name, tc := range map[string]struct {
		p    *Plan
		want string
	}{
		"nested indexes":       {&Plan{Manifests: nested, Images: []Image{image(0, root)}}, "more than"},
		"a large shared index": {shared, "more than"},
		"many catalogs":        {catalogs, ""},
	} {
		t.Run(name, func(t *testing.T) {
			slices.SortFunc(tc.p.Images, CompareImages)
			tc.p.Totals = tc.p.Count()
			began := time.Now()
			err := tc.p.checkWhole()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestChainOfAttachments checks that a long chain of attachments is followed once if the last one comes first.
func TestChainOfAttachments(t *testing.T) {
	const n = 20_000
	p := &Plan{}
	for i := range n {
		d := digest.FromString(fmt.Sprint(i))
		img := Image{Source: fmt.Sprintf("quay.io/a/b@%s", d), Kind: ReferrerImage, Digest: d, Repository: "a/b", Tags: []string{DigestTag(d)}, Size: 100}
		if i > 0 {
			img.Subject = digest.FromString(fmt.Sprint(i - 1))
		}
		p.Images = append(p.Images, img)
		p.Manifests = append(p.Manifests, Manifest{Digest: d, Size: 100, MediaType: ocispec.MediaTypeImageManifest})
	}
	slices.Reverse(p.Images)
	contents, err := p.Contents()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	all, err := withoutOrphans(p.Images, contents, 0)
	if err != nil || len(all) != n || time.Since(began) > 10*time.Second {
		t.Errorf("%d of %d images after %s, %v", len(all), n, time.Since(began), err)
	}
	if all, err := withoutOrphans(p.Images[:n-1], contents, 0); err != nil || len(all) != 0 {
		t.Errorf("%d images without their subject, %v", len(all), err)
	}
}
