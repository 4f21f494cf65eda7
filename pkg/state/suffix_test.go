package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func TestSuffix(t *testing.T) {
	w := open(t, t.TempDir())
	want := func(mirror, suffix string, known bool, others ...string) {
		t.Helper()
		got, isKnown, err := w.Suffix(mirror)
		if err != nil || got != suffix || isKnown != known {
			t.Errorf("the suffix of %s is %q, %v, %v", mirror, got, isKnown, err)
		}
		have, err := w.OtherSuffixes(mirror)
		if diff := cmp.Diff(others, have); err != nil || diff != "" {
			t.Errorf("suffixes beside %s: %s, %v", mirror, diff, err)
		}
	}
	want("one", "", false)
	// A version without suffixes wrote the objects of two mirrors.
	set := resources.File{Name: "idms-operator-0.yaml", Text: []byte("kind: ImageDigestMirrorSet\nmetadata: {name: idms-operator-0}\n")}
	for _, mirror := range []string{"one", "two"} {
		if _, _, err := w.SaveResources(mirror, []resources.File{set}); err != nil {
			t.Fatal(err)
		}
	}
	want("one", "", true)
	want("two", "", true, "")
	want("three", "", false, "")
	fail.On(t, w.SaveSuffix("three", "site"))
	want("three", "site", true, "")
	want("one", "", true, "site")
	if suffix, known := SuffixIn(w.dir, "three"); suffix != "site" || !known {
		t.Errorf("without locking: %q, %v", suffix, known)
	}
	if _, known := SuffixIn(t.TempDir(), "three"); known {
		t.Error("an empty folder has a suffix")
	}
}

// TestSuffixInManifests checks that a suffix is known from the manifests if its file was lost.
func TestSuffixInManifests(t *testing.T) {
	w := open(t, t.TempDir())
	set := resources.File{Name: "x.yaml", Text: []byte("kind: ImageDigestMirrorSet\nmetadata: {name: idms-operator-site-0}\n")}
	if _, _, err := w.SaveResources("one", []resources.File{set}); err != nil {
		t.Fatal(err)
	}
	if suffix, known, err := w.Suffix("one"); suffix != "site" || !known || err != nil {
		t.Errorf("the suffix is %q, %v, %v", suffix, known, err)
	}
	if others, err := w.OtherSuffixes("two"); err != nil || !cmp.Equal(others, []string{"site"}) {
		t.Errorf("other suffixes: %q, %v", others, err)
	}
}
