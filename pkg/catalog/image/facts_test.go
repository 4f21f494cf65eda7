package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFacts builds from an image whose layers were not read, with the facts of one whose layers
// were.
func TestFacts(t *testing.T) {
	m := newMemory()
	opm := source{arch: "amd64", entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{base, mixed, configs, cache}}
	arm := opm
	arm.arch, arm.layers = "arm64", [][]header{baseArm, mixed, configs, cache}
	root := m.putIndex(t, index(t, opm, arm))
	read, _, err := read(t, m, root)
	must(t, err)
	facts, err := read.Facts()
	must(t, err)
	want, err := build(t.Context(), m, read, filtered)
	must(t, err)

	clear(m.reads)
	img, err := Open(t.Context(), m, "", root)
	must(t, err)
	must(t, img.Restore(facts))
	got, err := build(t.Context(), m, img, filtered)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("built (-read +restored):\n%s", diff)
	}
	if diff := cmp.Diff(read.Layers(), img.Layers()); diff != "" {
		t.Errorf("layers (-read +restored):\n%s", diff)
	}
	for _, l := range read.Layers() {
		if m.reads[l.Descriptor.Digest] > 0 {
			t.Errorf("layer %s was read", l.Descriptor.Digest)
		}
	}
	again, err := img.Facts()
	must(t, err)
	if diff := cmp.Diff(string(facts), string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestRestoreOthers(t *testing.T) {
	m := newMemory()
	open := func(s source) *Image {
		img, err := Open(t.Context(), m, "", m.putImage(t, s.image(t)))
		must(t, err)
		return img
	}
	img := open(source{layers: [][]header{base, configs}})
	facts := func(img *Image) string {
		data, err := img.Facts()
		must(t, err)
		return string(data)
	}
	tests := map[string]struct{ facts, want string }{
		"no JSON":        {"{", "JSON"},
		"not read":       {facts(img), "is missing"},
		"another":        {facts(open(source{label: "/other", layers: [][]header{configs}})), "the catalog in /other"},
		"nothing at all": {"null", "the catalog in /"},
	}
	for name, test := range tests {
		if err := img.Restore([]byte(test.facts)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	bundle := open(source{labels: map[string]string{bundleLabel: "crane"}, layers: [][]header{configs}})
	if err := bundle.Restore([]byte("{}")); err == nil {
		t.Error("a bundle has facts about a catalog")
	}
}
