package build

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// fiveThousand is a fixture with catalogs of 5,000 images: 500 bundles with ten images each.
func fiveThousand(b *testing.B) *fixture {
	w := newFixture(b)
	for p := range 50 {
		dir, pkg := fmt.Sprintf("/cat%02d", p), fmt.Sprintf("op%02d", p)
		var bundles []map[string]any
		for v := range 10 {
			var images []string
			for i := range 9 {
				text := fmt.Sprintf("%s %d", pkg, i)
				images = append(images, w.push(fmt.Sprintf("quay.io/%s/operand%d", pkg, i), w.image(fmt.Sprintf("base %d", i%4), text, fmt.Sprintf("%s %d", text, v))))
			}
			bundle := w.push("quay.io/"+pkg+"/bundle", w.image(fmt.Sprintf("%s bundle %d", pkg, v)))
			bundles = append(bundles, map[string]any{"image": bundle, "relatedImages": related(images...)})
		}
		w.catalog(dir, pkg, bundles...)
	}
	return w
}

// stanza selects everything in the catalogs.
func stanza() string {
	text := "  operators:\n"
	for p := range 50 {
		text += fmt.Sprintf("  - {catalog: \"dir:///cat%02d\", full: true}\n", p)
	}
	return text
}

// BenchmarkPlan plans 5,000 images of 50 catalogs. The sources respond without delay.
func BenchmarkPlan(b *testing.B) {
	w := fiveThousand(b)
	b.ReportAllocs()
	for b.Loop() {
		if p := w.makePlan(stanza()); len(p.Images) != 5050 {
			b.Fatalf("%d images", len(p.Images))
		}
	}
}

// BenchmarkPlanFile writes, reads and walks a plan of 5,000 images.
func BenchmarkPlanFile(b *testing.B) {
	p := fiveThousand(b).makePlan(stanza())
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		b.Fatal(err)
	}
	size := int64(text.Len())
	b.Run("write", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if err := p.Write(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := plan.Read(bytes.NewReader(text.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("walk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			contents, err := p.Contents()
			if err != nil {
				b.Fatal(err)
			}
			blobs := map[digest.Digest]bool{}
			for _, img := range p.Images {
				if err := contents.Walk(img.Digest, func(*plan.Manifest) error { return nil }, func(blob plan.Blob) error { blobs[blob.Digest] = true; return nil }); err != nil {
					b.Fatal(err)
				}
			}
			if len(blobs) == 0 {
				b.Fatal("no blobs")
			}
		}
	})
}
