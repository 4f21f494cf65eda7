package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestVolumesNamedLikeThoseOfOCMirror checks that the numbers of volumes go on over the sets of a folder,
// that other files keep theirs, and that the sets are read, listed and removed with them.
func TestVolumesNamedLikeThoseOfOCMirror(t *testing.T) {
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "mirror_000002.tar"), []byte("of oc mirror"), 0o600))
	opts := small
	opts.OCMirrorNames = true
	write := func(s *sample, opts Options) {
		t.Helper()
		w := begin(t, dir, s, opts)
		s.put(t, w)
		fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	}
	want := func(sequence int, names ...string) {
		t.Helper()
		files, err := Files(dir, sequence)
		fail.On(t, err)
		var got []string
		for _, f := range files {
			if strings.HasSuffix(f.Name, ".tar") {
				got = append(got, f.Name)
			}
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("volumes of sequence %d: %s", sequence, diff)
		}
	}
	first, second := newSample(1, 10000), newSample(2, 20000)
	write(first, opts)
	write(first, opts) // nothing to do
	write(second, opts)
	want(1, "mirror_000003.tar", "mirror_000004.tar", "mirror_000005.tar")
	want(2, "mirror_000006.tar", "mirror_000007.tar", "mirror_000008.tar", "mirror_000009.tar")
	for sequence := range 2 {
		a, err := OpenWith(OpenOptions{Sequence: sequence + 1}, dir)
		fail.On(t, err)
		if err := errors.Join(a.Verify(t.Context(), nil), a.Close()); err != nil {
			t.Errorf("sequence %d: %v", sequence+1, err)
		}
	}
	// Volumes that were carried away keep their numbers.
	for _, name := range []string{"mirror_000006.tar", "mirror_000007.tar", "mirror_000008.tar", "mirror_000009.tar"} {
		fail.On(t, os.Remove(filepath.Join(dir, name)))
	}
	write(newSample(4, 100), opts)
	want(3, "mirror_000010.tar", "mirror_000011.tar")
	// Later archives may have other names. What they replace is removed with its volumes.
	opts.OCMirrorNames, opts.Replace = false, true
	write(newSample(3, 100), opts)
	left := fileNamesIn(t, dir)
	slices.Sort(left)
	fail.Diff(t, []string{"gantry-000004.0001.tar", "gantry-000004.0002.tar", "gantry-000004.json", "gantry-000004.json.sha256", "mirror_000002.tar"}, left)
}

// TestInterruptedNamingLikeOCMirror checks that a run killed while it renamed files is continued with the
// same names, and that no file of another tool is replaced.
func TestInterruptedNamingLikeOCMirror(t *testing.T) {
	opts := small
	opts.OCMirrorNames = true
	s := newSample(1, 50000)
	want := reference(t, s, opts)
	dir := t.TempDir()
	w := begin(t, dir, s, opts)
	s.put(t, w)
	fail.On(t, w.writeManifest(t.Context()))
	for i := range w.set.Volumes {
		fail.On(t, w.finishVolume(t.Context(), i))
	}
	fail.On(t, w.root.Rename(partialName+"/mirror_000002.tar", "mirror_000002.tar"))
	dead := crash(t, dir)
	fail.On(t, w.Close())
	next := begin(t, dead, s, opts)
	fail.Diff(t, 0, s.put(t, next))
	foreign := filepath.Join(dead, "mirror_000001.tar")
	fail.On(t, os.WriteFile(foreign, nil, 0o600))
	says(t, next.Finish(t.Context()), "mirror_000001.tar is in the folder now")
	fail.On(t, errors.Join(next.Close(), os.Remove(foreign)))
	s.continued(t, dead, opts, 0, want)
}

// TestHostileVolumeNames checks that names of volumes other than those that a set can have are refused.
func TestHostileVolumeNames(t *testing.T) {
	opts := small
	opts.firstVolume = 7
	s := newSample(1, 50000)
	p, err := opts.pack(s.Content, 1, "", nil)
	fail.On(t, err)
	var text strings.Builder
	fail.On(t, p.set.write(&text))
	_, err = parse(strings.NewReader(text.String()), true, nil)
	fail.On(t, err)
	for old, replacement := range map[string]string{
		`"firstVolume":7`:        `"firstVolume":8`,
		`"firstVolume":7,`:       `"firstVolume":-7,`,
		`"firstVolume": 7`:       `"firstVolume":999999`,
		"mirror_000007.tar":      "mirror_000008.tar",
		"mirror_000008.tar":      "../etc/passwd",
		`"split","volume-names"`: `"split"`,
	} {
		changed := strings.Replace(text.String(), old, replacement, 1)
		if changed == text.String() {
			changed = strings.Replace(text.String(), `"firstVolume":7`, replacement, 1)
		}
		if _, err := parse(strings.NewReader(changed), true, nil); err == nil || changed == text.String() {
			t.Errorf("%s in place of %s is accepted", replacement, old)
		}
	}
}

func fileNamesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	return elements.Map(entries, func(e os.DirEntry) string { return e.Name() })
}
