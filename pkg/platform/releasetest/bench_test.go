package releasetest

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// BenchmarkFixture makes a platform and pushes it into memory: the one of most tests, and single
// releases with as many components as real ones.
func BenchmarkFixture(b *testing.B) {
	real412 := Release{Version: "4.20.1", Components: Real412(), Sigstore: true}
	multi := real412
	multi.Arch = release.Multi
	for _, bc := range []struct {
		name string
		u    Definition
	}{{"small", Small()}, {"183 components", Definition{Releases: []Release{real412}}}, {"183 components, multi", Definition{Releases: []Release{multi}}}} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				w, err := New(bc.u)
				if err != nil {
					b.Fatal(err)
				}
				s := registrytest.New(b, registrytest.Options{})
				if err := w.Push(b.Context(), s.Client(), s.Host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
