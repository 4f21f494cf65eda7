package payload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// BenchmarkRead measures reading a release of the size of 2026: 190 components and 900 manifests
// with 40 MB; two of them are needed.
func BenchmarkRead(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var components []string
	for n := range 190 {
		components = append(components, fmt.Sprintf("component-%d=%d", n, n))
	}
	entries := []entry{{referencesFile, references(b, "4.20.5", components...)}, {metadataFile, metadata("4.20.5", "")}}
	for n := range 900 {
		var text strings.Builder
		text.WriteString("apiVersion: v1\nkind: ConfigMap\ndata:\n")
		for text.Len() < 44<<10 {
			fmt.Fprintf(&text, "  key-%d: value\n", random.IntN(1<<30))
		}
		entries = append(entries, entry{fmt.Sprintf("release-manifests/0000_%03d.yaml", n), text.String()})
	}
	entries = append(entries, entry{"release-manifests/0000_90_policy.yaml", policyText}, entry{"release-manifests/0000_90_keys.yaml", keysText})
	m := newMemory()
	desc := m.image(b, spec{label: "4.20.5", layers: [][]entry{entries}})
	b.Run("payload", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p, err := Read(b.Context(), m, repository, desc.Digest)
			must(b, err)
			if diff := cmp.Diff([]int{190, 1, len(keysText)}, []int{len(p.Components), len(p.Policies), len(p.SignatureConfig)}); diff != "" {
				b.Fatal(diff)
			}
		}
	})
	b.Run("metadata", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := Metadata(b.Context(), m, repository, desc.Digest)
			must(b, err)
		}
	})
}
