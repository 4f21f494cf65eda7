package mirroring_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

func volumesOf(size int64) change { return func(o *mirroring.Options) { o.VolumeSize = size } }

// checksums returns the checksum of each file in a folder, without the folder of unfinished work.
func checksums(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fail.On(t, err)
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fail.On(t, err)
		files[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(raw))
	}
	return files
}

// TestWrongDisk checks volumes and set manifests that were exchanged, renamed, truncated or written by another version. If
// an archive is refused, the mirror is not changed.
func TestWrongDisk(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	store := s.Config("store.yaml", mirrortest.StoreOnly)
	s.written(1, "a", volumesOf(150_000))
	s.Exported(store, "b", func(o *mirroring.Options) { o.Name, o.Workspace = "ops", s.Path("elsewhere") })
	s.Exported(store, "c", func(o *mirroring.Options) { o.Name = "other" })
	const first, second, manifest = "gantry-000001.0001.tar", "gantry-000001.0002.tar", "gantry-000001.json"
	to := func(name string) string { return "disk/" + name }
	// sums writes a set manifest with its checksum.
	sums := func(name, text string) {
		s.Write(to(name), text)
		s.Write(to(name+".sha256"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name))
	}
	edited := func(old, changed string) func() error {
		return func() error {
			text := s.Read(to(manifest))
			if !strings.Contains(text, old) {
				return errors.New("nothing to edit")
			}
			sums(manifest, strings.Replace(text, old, changed, 1))
			return nil
		}
	}
	replaced := func(pairs ...string) func() error {
		return func() error {
			for i := 0; i < len(pairs); i += 2 {
				s.Write(to(pairs[i]), s.Read(pairs[i+1]))
			}
			return nil
		}
	}
	const success = advice.Kind(99)
	for _, tc := range []struct {
		name   string
		kind   advice.Kind
		words  []string
		change func() error
		also   []string // folders
	}{
		{"a volume of another set", advice.Mismatch, []string{second}, replaced(second, "b/"+first), nil},
		{"volumes that were exchanged", success, nil, replaced(second, "a/"+first, first, "a/"+second), nil},
		{"renamed volumes", success, nil, func() error {
			return errors.Join(os.Rename(s.Path(to(first)), s.Path(to("January (1).tar"))), os.Rename(s.Path(to(second)), s.Path(to("2"))))
		}, nil},
		{"a renamed set manifest", advice.Mismatch, []string{"gantry-000002.json", "renamed"}, func() error {
			sums("gantry-000002.json", s.Read(to(manifest)))
			return os.Remove(s.Path(to(manifest)))
		}, nil},
		{"the set manifest of another set", success, nil, replaced(manifest, "b/"+manifest), nil},
		{"the set manifest of another set and its checksum", advice.Mismatch, []string{first}, replaced(manifest, "b/"+manifest, manifest+".sha256", "b/"+manifest+".sha256"), nil},
		{"no checksum file", success, nil, func() error { return os.Remove(s.Path(to(manifest + ".sha256"))) }, nil},
		{"a volume that was cut off", advice.Mismatch, []string{second}, func() error { return os.Truncate(s.Path(to(second)), 4096) }, nil},
		{"a later format", advice.Failure, []string{"format 2", "later Gantry"}, edited(`"format":1`, `"format":2`), nil},
		{"an earlier format", advice.Failure, []string{"format 0", "the Gantry that wrote it"}, edited(`"format":1`, `"format":0`), nil},
		{"a feature of a later version", advice.Failure, []string{"hologram", "does not know"}, edited(`"features":[]`, `"features":["hologram"]`), nil},
		{"two sets with the same number", advice.Input, []string{manifest, s.Path("b"), "name the folders of one"}, nil, []string{"b"}},
		{"two series", advice.Input, []string{s.Path("c"), "name the folders of one"}, nil, []string{"c"}},
	} {
		s.Remove("disk")
		err := os.CopyFS(s.Path("disk"), os.DirFS(s.Path("a")))
		if err == nil && tc.change != nil {
			err = tc.change()
		}
		fail.On(t, err)
		s.Mirror.ResetLog()
		folders := append([]string{"disk"}, tc.also...)
		v, verifyErr := s.verify(folders...)
		_, importErr := s.importing(strings.ReplaceAll(tc.name, " ", "-"), folders)
		if tc.kind == success {
			if err := errors.Join(verifyErr, importErr); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		mirrortest.Refused(t, importErr, tc.kind, tc.words...)
		if v == nil { // otherwise, the result has the damage
			mirrortest.Refused(t, verifyErr, tc.kind, tc.words...)
		} else if advice.KindOf(verifyErr) != tc.kind || !strings.Contains(fmt.Sprint(v.Damage), tc.words[0]) {
			t.Errorf("%s: verify found %v, %v", tc.name, v.Damage, verifyErr)
		}
		if sent := changes(s.Site); len(sent) > 0 {
			t.Errorf("%s: the mirror was changed: %v", tc.name, sent)
		}
	}
}

// TestSeveralDisks imports an archive that is spread over two disks.
func TestSeveralDisks(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	s.written(1, "disk1", volumesOf(150_000))
	volumes, err := filepath.Glob(s.Path("disk1/*.tar"))
	if err != nil || len(volumes) < 4 {
		t.Fatalf("%v, %v", volumes, err)
	}
	fail.On(t, os.Mkdir(s.Path("beside"), 0o755))
	var moved []string
	for i := 1; i < len(volumes); i += 2 {
		moved = append(moved, filepath.Base(volumes[i]))
		fail.On(t, os.Rename(volumes[i], s.Path("beside/"+filepath.Base(volumes[i]))))
	}
	s.Mirror.ResetLog()
	_, err = s.importing("site", []string{"disk1"})
	mirrortest.Refused(t, err, advice.Mismatch, append(moved, s.Path("disk1"))...)
	if sent := changes(s.Site); len(sent) > 0 {
		t.Errorf("%v before all disks are present", sent)
	}
	s.imports("site", "disk1", "beside")
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	if r := s.imports("site", "beside", "disk1"); r.Report.Copied > 0 {
		t.Errorf("in another order, %d images were copied again", r.Report.Copied)
	}
	_, err = s.importing("site", []string{"absent"})
	mirrortest.Refused(t, err, advice.Input, "no such file", "that the disk is mounted")
}

// TestReadOnlyDisk reads an archive on a disk that cannot be written to.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	dir := s.Medium("disk", 64)
	s.written(1, "disk")
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := checksums(t, dir)
	o := open.Options{Env: s.Env, Folders: []string{s.Archive("disk")}}
	_, verifyErr := s.verify("disk")
	_, inspectErr := inspect.Archive(t.Context(), o)
	_, listErr := inspect.ListArchiveImages(t.Context(), inspect.ArchiveListOptions{Options: o})
	_, extractErr := extract.Images(t.Context(), extract.Options{Options: o, To: s.Path("layout")})
	_, _, repairErr := open.RequestRepair(t.Context(), o)
	fail.On(t, errors.Join(verifyErr, inspectErr, listErr, extractErr, repairErr))
	s.imports("site", "disk")
	if again := s.written(1, "disk"); again.Sequence != 1 {
		t.Errorf("%+v", again)
	}
	if _, err := s.write(2, "disk"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("writing to it: %v", err)
	}
	fail.Diff(t, before, checksums(t, dir))
}

// TestDiskFull fills the disk while a run writes an archive beside the one that it builds on. That one stays, and with
// space, the same run continues.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	dir := s.Medium("disk", 32)
	s.written(1, "disk")
	before := checksums(t, dir)
	fill, free := s.Filler(dir)
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: mirrortest.Once(fill)})
	_, err := s.write(2, "disk")
	mirrortest.Refused(t, err, advice.NoSpace, "not enough space in "+dir)
	// The next run reports the error before it reads any blob.
	fill()
	s.Source.ResetLog()
	_, err = s.write(2, "disk")
	mirrortest.Refused(t, err, advice.NoSpace, "not enough space in "+dir, "are still to be written")
	for _, r := range mirrortest.Requests(s.Source, http.MethodGet) {
		if strings.Contains(r, "/tidewater/") && strings.Contains(r, "/blobs/") {
			t.Errorf("%s was read although there is no space for it", r)
		}
	}
	free()
	fail.Diff(t, before, checksums(t, dir))
	s.sequence(s.written(2, "disk"), 2, 1)
	if _, err := s.verify("disk"); err != nil || s.manifests("disk") != "000001 000002" || s.Exists("disk/.gantry-partial") {
		t.Errorf("the folder has %s, %v", s.manifests("disk"), err)
	}
	s.imports("site", "disk")
	s.VerifyCatalog("site", mirrortest.Acme, 4)
}

// TestVolumeSize checks that volumes have the requested size, and that an archive with volumes of another size is written
// again, from its own content.
func TestVolumeSize(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	volumes := func() (n int, largest int64) {
		t.Helper()
		files, err := filepath.Glob(s.Path("disk/*.tar"))
		fail.On(t, err)
		for _, file := range files {
			info, err := os.Stat(file)
			fail.On(t, err)
			largest = max(largest, info.Size())
		}
		return len(files), largest
	}
	s.written(1, "disk")
	if n, _ := volumes(); n != 1 {
		t.Fatalf("%d volumes, want 1 of the default size", n)
	}
	toCopy := func(size int64) int64 {
		t.Helper()
		r := s.Mirrored(s.months[1], s.Archive("disk"), volumesOf(size), func(o *mirroring.Options) { o.Name, o.DryRun = "ops", true })
		return r.ToCopy.Bytes
	}
	if same, small := toCopy(0), toCopy(150_000); same != 0 || small == 0 {
		t.Errorf("to copy: %d bytes, and %d with smaller volumes", same, small)
	}
	s.Source.ResetLog()
	s.written(1, "disk", volumesOf(150_000))
	if n, largest := volumes(); n < 2 || largest > 150_000 {
		t.Errorf("%d volumes, the largest of %d bytes", n, largest)
	}
	if n := s.Source.Requests()["GET blob"]; n > 0 {
		t.Errorf("%d blobs were read from the source though the archive had them", n)
	}
	s.imports("site", "disk")
}

// TestVolumesAlone carries the volumes of a signed archive under other names and nothing else, and opens it with each verb.
func TestVolumesAlone(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	key, _ := s.SSHKey("ops", "")
	s.written(1, "disk", s.SignedWith(key), func(o *mirroring.Options) { o.Layout = workspace.OCMirrorLayout })
	tars, err := filepath.Glob(s.Path("disk/mirror_*.tar"))
	if err != nil || len(tars) == 0 {
		t.Fatalf("volumes %v, %v", tars, err)
	}
	fail.On(t, os.Mkdir(s.Path("alone"), 0o755))
	for i, file := range tars {
		fail.On(t, os.Rename(file, s.Path("alone/"+string(rune('z'-i))+".download")))
	}
	signed := archive.OpenOptions{Signatures: s.Policy(key)}
	o := open.Options{Env: s.Env, Folders: []string{s.Archive("alone")}, Read: signed}
	if v, err := verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: o.Folders, Read: signed}); err != nil || v.Archive.Signature == nil || !v.Archive.Signature.Trusted {
		t.Errorf("%+v, %v", v, err)
	}
	if i, err := inspect.Archive(t.Context(), o); err != nil || i.Sets[0].Recovered != "copy" {
		t.Errorf("%+v, %v", i, err)
	}
	if l, err := inspect.ListArchiveImages(t.Context(), inspect.ArchiveListOptions{Options: o, Filter: []string{"tools/netcheck:1.4"}}); err != nil || len(l.Images) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = extract.Images(t.Context(), extract.Options{Options: o, To: s.Path("layout")})
	fail.On(t, err)
	_, err = s.importing("alone", []string{"alone"}, func(o *mirroring.Options) { o.Read = signed })
	fail.On(t, err)

	// What is left behind is not damage: the next archive has what is new.
	s.Said()
	s.written(2, "disk", s.SignedWith(key), func(o *mirroring.Options) { o.Layout = workspace.OCMirrorLayout })
	if !s.said("mirror_000001.tar of sequence 1 in ", "elsewhere, and this archive builds on sequence 1") {
		t.Error("the missing volumes are not named")
	}
	if !s.Exists("disk/" + strings.Replace(filepath.Base(tars[0]), "000001", "000002", 1)) {
		t.Error("the next archive has no volume")
	}
}
