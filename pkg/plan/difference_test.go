package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

func TestCompare(t *testing.T) {
	sum := func(what string) digest.Digest { return digest.FromString(what) }
	manifests := func(names ...string) []Manifest {
		return elements.Map(names, func(name string) Manifest { return Manifest{Digest: sum(name), Size: 10} })
	}
	before := &Plan{
		Images: []Image{
			{Repository: "org/kept", Tags: []string{"1", "2"}, Digest: sum("kept"), Size: 100},
			{Repository: "org/gone", Tags: []string{"1"}, Digest: sum("gone"), Size: 200},
			{Repository: "org/moved", Tags: []string{"latest", "v1"}, Digest: sum("old"), Size: 300},
		},
		Manifests: manifests("kept", "gone", "old"),
		Blobs:     []Blob{{Digest: sum("shared"), Size: 1000}, {Digest: sum("dropped"), Size: 2000}},
	}
	after := &Plan{
		Images: []Image{
			{Repository: "org/kept", Tags: []string{"2", "1"}, Digest: sum("kept"), Size: 100},
			{Repository: "org/moved", Tags: []string{"latest", "v1"}, Digest: sum("new"), Size: 400},
			{Repository: "org/come", Tags: []string{"1"}, Digest: sum("come"), Size: 500},
		},
		Manifests: manifests("new", "come", "kept"),
		Blobs:     []Blob{{Digest: sum("fresh"), Size: 4000}, {Digest: sum("shared"), Size: 1000}},
	}
	want := &Difference{
		Added:   []ChangedImage{{Name: "org/come:1", New: sum("come"), Size: 500}},
		Removed: []ChangedImage{{Name: "org/gone:1", Old: sum("gone"), Size: 200}},
		Changed: []ChangedImage{
			{Name: "org/moved:latest", Old: sum("old"), New: sum("new"), Size: 400},
			{Name: "org/moved:v1", Old: sum("old"), New: sum("new"), Size: 400},
		},
		NewContent: 3, NewBytes: 4020, RemovedContent: 3, RemovedBytes: 2020,
	}
	got := Compare(before.Outline(), after.Outline())
	if diff := cmp.Diff(want, got); diff != "" || got.Empty() {
		t.Errorf("Compare (-want +got):\n%s", diff)
	}
	same := Compare(before.Outline(), before.Outline())
	if diff := cmp.Diff(&Difference{Added: []ChangedImage{}, Removed: []ChangedImage{}, Changed: []ChangedImage{}}, same); diff != "" || !same.Empty() {
		t.Errorf("of one plan (-want +got):\n%s", diff)
	}
}
