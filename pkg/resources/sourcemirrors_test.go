package resources

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestMirrors(t *testing.T) {
	image := func(kind, source, mirror string) Image {
		return Image{Kind: kind, Source: ref(t, source), Mirror: ref(t, mirror)}
	}
	got, err := Mirrors([]Image{
		image("operator", "quay.io/org/b#b", "mirror.local:5000/ocp/org/b:x#b"),
		image("generic", "quay.io/org/a:v1", "mirror.local:5000/ocp/org/a:v1#a"),
		image("generic", "docker.io/library/c:v2", "mirror.local:5000/ocp/moved/c:v2#c"),
	}, Options{MirrorSourcePolicy: neverContactSource})
	fail.On(t, err)
	want := []SourceMirrors{
		{Source: "docker.io/library/c", ByTag: []string{"mirror.local:5000/ocp/moved/c"}, Policy: neverContactSource, Kinds: []string{"generic"}},
		{Source: "quay.io/org", ByDigest: []string{"mirror.local:5000/ocp/org"}, ByTag: []string{"mirror.local:5000/ocp/org"}, Policy: neverContactSource, Kinds: []string{"generic", "operator"}},
	}
	fail.Diff(t, want, got)
}
