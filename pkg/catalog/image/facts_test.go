package image

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRestoreOthers(t *testing.T) {
	m := newMemory()
	open := func(s source) *Image {
		img, err := Open(t.Context(), m, "", m.putImage(t, s.image(t)))
		fail.On(t, err)
		return img
	}
	img := open(source{layers: [][]header{base, configs}})
	facts := func(img *Image) string {
		data, err := img.Facts()
		fail.On(t, err)
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
