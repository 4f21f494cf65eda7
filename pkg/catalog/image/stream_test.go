package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestStream checks that a stream has the objects that Read returns, always in the same order, and
// that the layers without the catalog are fetched once.
func TestStream(t *testing.T) {
	meta := func(name string) string { return fmt.Sprintf("{\"schema\":\"s\",\"name\":%q}\n", name) }
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{
		base,
		{{"configs/old.json", meta("old")}, {"configs/z.json", meta("z 1") + meta("z 2")}, {"configs/a/README.md", "no catalog"}},
		{{"configs/b.json", meta("b")}, {"configs/link.json", "-> z.json"}, {"configs/.wh.old.json", ""}},
		{{"configs/a/.indexignore", "*.md"}, {"configs/a/a.json", meta("a")}, {"configs/ignored/x", "x"}, {"configs/.indexignore", "-> ignored/patterns"}, {"configs/ignored/patterns", "ignored"}},
		cache,
	}}.image(t))
	img, err := Open(t.Context(), m, "", root)
	fail.On(t, err)

	stream := func() []string {
		var got []string
		fail.On(t, img.Stream(t.Context(), func(m *catalog.Meta) error {
			got = append(got, m.Name+" "+m.File)
			return nil
		}))
		return got
	}
	got := stream()
	for _, l := range img.image.Platforms[0].Layers {
		n := m.reads[l.Digest]
		if l.Digest == digestOf(string(gzipped(t, pack(t, base)))) && n != 1 {
			t.Errorf("the base layer was read %d times", n)
		}
	}
	for range 5 {
		fail.Diff(t, got, stream())
	}
	want, err := img.Read(t.Context(), catalog.Options{})
	fail.On(t, err)
	all := elements.Map(want.Others, func(m *catalog.Meta) string { return m.Name + " " + m.File })
	slices.Sort(all)
	slices.Sort(got)
	fail.Diff(t, all, got)
}

func TestStreamErrors(t *testing.T) {
	m := newMemory()
	img, err := Open(t.Context(), m, "", m.putImage(t, source{layers: [][]header{
		{{"configs/a.json", `{"schema":"a"}{"schema":"b"}`}, {"configs/b.json", `{"schema":`}},
	}}.image(t)))
	fail.On(t, err)
	count := 0
	err = img.Stream(t.Context(), func(*catalog.Meta) error { count++; return nil })
	var found *catalog.Error
	if !errors.As(err, &found) || count != 2 || !strings.Contains(err.Error(), "b.json:1: invalid JSON") {
		t.Errorf("%d objects and error %v", count, err)
	}
	stop := errors.New("enough")
	fail.Diff(t, stop, img.Stream(t.Context(), func(*catalog.Meta) error { return stop }), cmpopts.EquateErrors())
}
