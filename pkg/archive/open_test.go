package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A line is a series of archives, each in its own folder.
type line struct {
	samples []*sample
	dirs    []string
	sets    []state.SetRef
}

// next writes a set that builds on the earlier ones and has only the content that they do not have.
func (s *line) next(t *testing.T, whole *sample, size int64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	opts := Options{VolumeSize: size}
	if len(s.sets) > 0 {
		have := map[digest.Digest]bool{}
		for _, before := range s.samples {
			for _, e := range before.Entries {
				have[e.Digest] = true
			}
		}
		opts.Base = &Base{
			Sets:         s.sets,
			Has:          func(d digest.Digest) bool { return have[d] },
			RepositoryOf: func(d digest.Digest) string { return "team/app" },
		}
	}
	whole.Name = "prod"
	whole.write(t, dir, opts)
	info := newest(t, dir)
	s.samples, s.dirs, s.sets = append(s.samples, whole), append(s.dirs, dir), append(s.sets, info.SetRef)
	return dir
}

func newest(t *testing.T, dirs ...string) SetInfo {
	t.Helper()
	a := mustInspect(t, dirs...)
	defer a.Close()
	return a.Selected()
}

// months returns three archives. The second and third build on the earlier ones.
func months(t *testing.T) *line {
	s := &line{}
	s.next(t, newSample(1, 9000, 9000, 700), 16<<10)
	s.next(t, newSample(1, 9000, 9000, 700, 9000, 50), 16<<10)
	s.next(t, newSample(1, 9000, 9000, 700, 9000, 50, 9000, 9000, 20), 16<<10)
	return s
}

// readable compares the content read from an archive with a sample, and returns the number of
// entries that cannot be read.
func (s *sample) readable(t *testing.T, a *Archive) (lost int) {
	t.Helper()
	for _, e := range s.Entries {
		raw, err := readBlob(t, a, e, 0)
		lacks := a.CheckContent(e)
		switch {
		case err != nil:
			lost++
		case lacks != nil:
			t.Errorf("%s can be read, and Lacks = %v", e.Digest, lacks)
		case !bytes.Equal(raw, s.bytes[e.Digest]):
			t.Errorf("%s has other bytes", e.Digest)
		}
	}
	return lost
}

func mustOpen(t *testing.T, dirs ...string) *Archive {
	t.Helper()
	a, err := Open(dirs...)
	fail.On(t, err)
	t.Cleanup(func() { _ = a.Close() }) // only read
	return a
}

func mustInspect(t *testing.T, dirs ...string) *Archive {
	t.Helper()
	a, err := Inspect(dirs...)
	fail.On(t, err)
	t.Cleanup(func() { _ = a.Close() }) // only read
	return a
}

func contentOf(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	fail.On(t, err)
	return raw
}

// TestChainOfSets checks that with the folders of all sets, in any order, everything is readable.
func TestChainOfSets(t *testing.T) {
	s := months(t)
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0, 1}} {
		dirs := elements.Map(order, func(i int) string { return s.dirs[i] })
		a := mustOpen(t, dirs...)
		if n := s.samples[2].readable(t, a); n != 0 {
			t.Errorf("%v: %d are lost", order, n)
		}
		if plan, err := readPlan(t.Context(), a); err != nil || !bytes.Equal(plan, s.samples[2].plan) {
			t.Errorf("%v: Plan = %s, %v", order, plan, err)
		}
		if err := a.Verify(t.Context(), nil); err != nil {
			t.Errorf("%v: %v", order, err)
		}
		sequences := elements.Map(a.Sets(), func(info SetInfo) int { return info.Sequence })
		if !slices.Equal(sequences, []int{3, 2, 1}) {
			t.Errorf("%v: Sets are %v", order, sequences)
		}
		seen := map[digest.Digest]bool{}
		for d := range a.Digests() {
			if seen[d] {
				t.Errorf("%s is there twice", d)
			}
			seen[d] = true
		}
		fail.Diff(t, len(s.samples[2].Entries), len(seen))
	}
}

// TestNewestAlone checks that the newest set can be opened alone, and that for content it leaves
// out, it reports the set that has it and its repository at the site.
func TestNewestAlone(t *testing.T) {
	s := months(t)
	a := mustOpen(t, s.dirs[2])
	old, fresh := s.samples[0].Entries[0], s.samples[2].Entries[len(s.samples[2].Entries)-1]
	if !a.Has(fresh) || a.CheckContent(fresh) != nil || a.Has(old) {
		t.Errorf("Has(new) = %v, Lacks(new) = %v, Has(old) = %v", a.Has(fresh), a.CheckContent(fresh), a.Has(old))
	}
	fail.Diff(t, "team/app", a.RepositoryOf(old.Digest))
	_, err := a.Blob(t.Context(), "", old, 0)
	says(t, err, "team/app", setName(2), string(s.sets[1].Set))
	if !errors.Is(err, fs.ErrNotExist) || a.CheckContent(old) == nil {
		t.Errorf("Blob = %v", err)
	}
	sets := a.Sets()
	if len(sets) != 3 || sets[1].Dir != "" || sets[1].SetRef != s.sets[1] || sets[2].SetRef != s.sets[0] {
		t.Errorf("Sets = %+v", sets)
	}
	fail.On(t, a.Verify(t.Context(), nil))
}

// TestMissingVolumes checks that a missing volume is reported with its set and the folders
// searched, and that volumes of older sets are only required if their content is needed.
func TestMissingVolumes(t *testing.T) {
	s := months(t)
	volumes := func(i int) int { return len(newest(t, s.dirs[i]).Volumes) }
	n := volumes(2)
	if n < 2 || volumes(0) < 2 {
		t.Fatalf("%d volumes", n)
	}
	fail.On(t, errors.Join(os.Remove(filepath.Join(s.dirs[2], volumeName(3, 2))), os.Remove(filepath.Join(s.dirs[0], volumeName(1, 2)))))
	want := strings.NewReplacer("N", string(rune('0'+n)), "DIRS", strings.Join(s.dirs, ", ")).Replace("gantry-000003.0002.tar (sequence 3, volume 2 of N) is in none of DIRS")
	_, err := Open(s.dirs...)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "gantry-000001") {
		t.Errorf("Open = %v, want %q", err, want)
	}
	a := mustInspect(t, s.dirs...)
	lost := s.samples[2].readable(t, a)
	var damage *DamageError
	if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) || len(damage.Damage) != 2 || len(damage.Lost()) != lost || lost == 0 {
		t.Errorf("%d are lost, Verify = %v", lost, err)
	}
}

// TestVolumesOnSeveralMedia checks that the volumes of a set are found on several disks and under
// other names.
func TestVolumesOnSeveralMedia(t *testing.T) {
	s := newSample(1, 9000, 9000, 9000, 9000)
	dir, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10})
	move := func(name, to string) {
		t.Helper()
		fail.On(t, os.Rename(filepath.Join(dir, name), to))
	}
	move(volumeName(1, 2), filepath.Join(second, volumeName(1, 2)))
	move(volumeName(1, 3), filepath.Join(third, "Volume 3 (copy).TAR"))
	move(volumeName(1, 4), filepath.Join(third, volumeName(1, 2))) // the name of another volume
	_, err := Open(dir, second)
	says(t, err, "is missing 2 volumes")
	a := mustOpen(t, dir, second, third)
	fail.Diff(t, 0, s.readable(t, a))
	fail.On(t, a.Verify(t.Context(), nil))
	fail.Diff(t, filepath.Join(third, "Volume 3 (copy).TAR"), a.Selected().Volumes[2].Path)
	// Damage in a renamed file is reported with its path.
	path := filepath.Join(third, "Volume 3 (copy).TAR")
	e := a.set.Volumes[2].Entries[1]
	defer alter(t, path, flip(e.Offset*8))()
	says(t, a.Verify(t.Context(), nil), volumeName(1, 3), path)
}

// TestAsk checks that Ask is called for more folders until no volume is missing.
func TestAsk(t *testing.T) {
	s := newSample(1, 9000, 9000, 9000)
	dir, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 16 << 10, withoutCopy: true})
	for n, to := range map[int]string{2: second, 3: third} {
		fail.On(t, os.Rename(filepath.Join(dir, volumeName(1, n)), filepath.Join(to, volumeName(1, n))))
	}
	two, three := volumeName(1, 2)+" (sequence 1, volume 2 of 4)", volumeName(1, 3)+" (sequence 1, volume 3 of 4)"
	var asked [][]string
	answers := []string{t.TempDir(), third, dir, second}
	a, err := OpenWith(OpenOptions{Ask: func(missing []string) (string, error) {
		asked = append(asked, missing)
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}}, dir)
	fail.On(t, err)
	defer a.Close()
	want := [][]string{{two, three}, {two, three}, {two}, {two}}
	if !slices.EqualFunc(asked, want, slices.Equal) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for i, medium := range a.members[0].volumes {
		if len(medium.files) != 1 {
			t.Errorf("volume %d is open %d times", i+1, len(medium.files))
		}
	}
	fail.Diff(t, 0, s.readable(t, a))
	stop := errors.New("no more disks")
	if _, err := OpenWith(OpenOptions{Ask: func([]string) (string, error) { return "", stop }}, dir); !errors.Is(err, stop) {
		t.Errorf("Open = %v", err)
	}
	var damage *DamageError
	if _, err := OpenWith(OpenOptions{Ask: func([]string) (string, error) { return "", nil }}, dir); !errors.As(err, &damage) || len(damage.Damage) != 2 {
		t.Errorf("Open = %v", err)
	}
}

// TestTwoArchives checks that folders with two archives are refused, and that the error names both.
func TestTwoArchives(t *testing.T) {
	s := months(t)
	write := func(name string, seed uint64) string {
		dir, other := filepath.Join(t.TempDir(), name), newSample(seed, 100)
		other.Name = name
		other.write(t, dir, Options{})
		return dir
	}
	same, test := write("prod", 77), write("test", 78)
	for name, tc := range map[string]struct {
		dirs []string
		want []string
	}{
		"two series":               {[]string{s.dirs[2], test}, []string{"two series", `"prod"`, `"test"`, s.dirs[2], test, setName(3), setName(1)}},
		"two of one sequence":      {[]string{s.dirs[0], same}, []string{"two different sets", setName(1), s.dirs[0], same, string(s.sets[0].Set)}},
		"two of an older sequence": {[]string{s.dirs[2], s.dirs[0], same}, []string{"two different sets", setName(1), s.dirs[0], same}},
		"another than built on":    {[]string{s.dirs[2], same}, []string{"another set", setName(1), same, string(s.sets[0].Set)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(tc.dirs...)
			if !errors.As(err, new(*MixedSetsError)) {
				t.Errorf("Open = %v, want a *MixedSetsError", err)
			}
			says(t, err, append(tc.want, "name the folders of one")...)
		})
	}
}

// TestChooseSequence checks that a sequence can be selected, and that if its set manifest is
// damaged in one folder, it is read from another.
func TestChooseSequence(t *testing.T) {
	s := months(t)
	a, err := OpenWith(OpenOptions{Sequence: 2}, s.dirs...)
	fail.On(t, err)
	defer a.Close()
	if n := s.samples[1].readable(t, a); n != 0 || a.Selected().Sequence != 2 {
		t.Errorf("%d are lost of sequence %d", n, a.Selected().Sequence)
	}
	if _, err := OpenWith(OpenOptions{Sequence: 7}, s.dirs...); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), setName(7)) {
		t.Errorf("Open = %v", err)
	}
	spare := t.TempDir()
	for _, name := range []string{setName(3), sumName(3)} {
		raw, err := os.ReadFile(filepath.Join(s.dirs[2], name))
		fail.On(t, errors.Join(err, os.WriteFile(filepath.Join(spare, name), raw, 0o644)))
	}
	alter(t, filepath.Join(s.dirs[2], setName(3)), flip(4000))
	_, err = Open(s.dirs...)
	says(t, err, setName(3))
	b := mustOpen(t, append(s.dirs, spare)...)
	var damage *DamageError
	if err := b.Verify(t.Context(), nil); !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].File != setName(3) || !damage.Recoverable() {
		t.Errorf("Verify = %v", err)
	}
}

// TestDamagedBase checks that if the set manifest of an earlier set is damaged, Verify and reading
// its content report it, and that the content of the newest set is still readable.
func TestDamagedBase(t *testing.T) {
	s := months(t)
	alter(t, filepath.Join(s.dirs[0], setName(1)), flip(2000))
	a := mustOpen(t, s.dirs...)
	sets := a.Sets()
	if last := sets[len(sets)-1]; last.Sequence != 1 || last.Dir != "" || !strings.Contains(last.Problem, "was altered") {
		t.Errorf("Sets = %+v", last)
	}
	if _, err := a.Blob(t.Context(), "", s.samples[0].Entries[0], 0); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("Blob = %v", err)
	}
	var damage *DamageError
	if err := a.Verify(t.Context(), nil); !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].File != setName(1) || damage.Recoverable() {
		t.Errorf("Verify = %v", err)
	}
}
