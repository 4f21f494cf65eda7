package releasetest

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

func TestWorldIsWhole(t *testing.T) {
	t.Parallel()
	w, err := New(Small())
	if err != nil {
		t.Fatal(err)
	}
	s := registrytest.New(t, registrytest.Options{})
	if err := w.Push(t.Context(), s.Client(), s.Host); err != nil {
		t.Fatal(err)
	}
	for _, p := range w.placed {
		got, err := s.Client().Pull(t.Context(), "quay.io/"+p.repository, p.digest.String())
		if err != nil || got.Digest != p.digest {
			t.Errorf("pulled %s: %v", got.Digest, err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	real412 := Small()
	real412.Releases = real412.Releases[4:5]
	real412.Releases[0].Components = Real412()
	real412.Channels, real412.Blocked = nil, nil
	for name, u := range map[string]Universe{"small": Small(), "183 components": real412} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New(u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
