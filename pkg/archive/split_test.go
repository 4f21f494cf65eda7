package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// small has volumes that are smaller than the layers of a sample.
var small = Options{VolumeSize: 16 << 10}

func TestPartsAreSetDownWithTheirDigests(t *testing.T) {
	s, dir := newSample(1, 50000, 40000), t.TempDir()
	s.write(t, dir, small)
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	defer root.Close()
	set, _, err := readSet(root, 1)
	fail.On(t, err)
	fail.Diff(t, []string{featureSplit}, set.Features)
	parts := 0
	for _, v := range set.Volumes {
		raw := contentOf(t, filepath.Join(dir, v.Name))
		for _, e := range v.Entries {
			if e.Part == nil {
				continue
			}
			parts++
			fail.Diff(t, e.Part.Digest, digest.FromBytes(raw[e.Offset:e.Offset+e.Size]))
		}
	}
	if parts < 6 {
		t.Errorf("there are %d parts", parts)
	}
	// With the same content, nothing is written.
	w := begin(t, dir, s, small)
	if !w.Complete() || !w.Has(s.Entries[1]) {
		t.Error("it is not known again")
	}
	raw, err := os.ReadFile(filepath.Join(dir, setName(1)))
	if is, setErr := w.Ref(); errors.Join(err, setErr) != nil || is != (state.SetRef{Sequence: 1, Set: digest.FromBytes(raw)}) {
		t.Errorf("it is said to be %v: %v", is, errors.Join(err, setErr))
	}
	fail.On(t, w.Close())
	// A set with another volume size reuses the content of the parts.
	w = begin(t, dir, s, Options{VolumeSize: 20 << 10, Replace: true})
	fail.Diff(t, 0, s.fetch(t, w))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	s.check(t, dir)
}

// run runs a program in a folder.
func run(t *testing.T, dir, program string, args ...string) (output string, err error) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip("there is no " + program)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestExtractJoinAndSum checks that tar, sh, gzip and sha256sum make a layout from the volumes, check it, and read the
// plan, without Gantry.
func TestExtractJoinAndSum(t *testing.T) {
	s, dir := newSample(1, 50000, 9000, 0, 40000), t.TempDir()
	raw := make([]byte, 30000)
	long := s.add("application/octet-stream", raw)
	long.Digest = digest.SHA512.FromBytes(raw)
	s.bytes[long.Digest], s.Entries[len(s.Entries)-1] = raw, long
	s.write(t, dir, small)
	to := extract(t, dir)
	if out, err := run(t, dir, "sha256sum", "--strict", "-c", sumName(1)); err != nil {
		t.Errorf("the set manifest: %v\n%s", err, out)
	}
	if out, err := run(t, to, "gzip", "-dc", planPath); err != nil || out != string(s.plan) {
		t.Errorf("the plan is %q: %v", out, err)
	}
	if out, err := run(t, to, "sha256sum", "--strict", "--quiet", "-c", sumsPath); err == nil {
		t.Errorf("parts were not joined, and sha256sum finds nothing missing: %s", out)
	}
	lost := filepath.Join(to, layout.BlobPath(s.Entries[1].Digest)+".part0002")
	fail.On(t, os.Rename(lost, lost+"-away"))
	if out, err := run(t, to, "sh", joinPath); err == nil || out != layout.BlobPath(s.Entries[1].Digest)+": parts are missing or damaged: extract all volumes here, then run this again\n" {
		t.Errorf("a part was lost: %v\n%s", err, out)
	}
	fail.On(t, os.Rename(lost+"-away", lost))
	for range 2 { // the second time, nothing is left to do
		if out, err := run(t, to, "sh", joinPath); err != nil || out != "" {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(to, "blobs", "*", "*.*")); len(left) > 0 {
		t.Errorf("%s are left", left)
	}
	if out, err := run(t, to, "sha256sum", "--strict", "--quiet", "-c", sumsPath); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(to, layout.BlobPath(long.Digest))); err != nil || digest.SHA512.FromBytes(got) != long.Digest {
		t.Errorf("the blob under sha512: %v", err)
	}
	path, err := gcrlayout.FromPath(to)
	fail.On(t, err)
	index, err := path.ImageIndex()
	fail.On(t, err)
	for _, m := range s.names {
		img, err := index.Image(v1.Hash{Algorithm: "sha256", Hex: m.Digest.Encoded()})
		fail.On(t, err)
		if err := validate.Image(img, validate.Fast); err != nil {
			t.Errorf("%s: %v", m.Digest, err)
		}
	}
	// It lists every file except labels, itself and content whose digest is not SHA-256.
	listed := 3 + 1 + len(s.Entries) - 1
	text := contentOf(t, filepath.Join(to, sumsPath))
	fail.Diff(t, listed, strings.Count(string(text), "\n"))
}

// FuzzSplit checks, for any sizes of content and volumes, that parts cover the content, that no
// volume exceeds the limit, and that the content can be read back.
//
// Slow: it writes sets and reads them; FuzzSet reads what strangers wrote.
func FuzzSplit(f *testing.F) {
	f.Add(uint32(16<<10), uint32(100000), uint32(20000), uint32(0), false)
	f.Add(uint32(17001), uint32(13823), uint32(13824), uint32(13825), true)
	f.Fuzz(func(t *testing.T, volume, a, b, c uint32, long bool) {
		limit := minVolumeSize + int64(volume%(1<<20))
		content := blobs(int64(a%(1<<17)), int64(b%(1<<17)), int64(c%(1<<17)))
		if long {
			content[0].Digest = digest.SHA512.FromString(fmt.Sprint(a))
		}
		p, err := pack(Content{Name: "series", Plan: writeBytes([]byte("{}")), Entries: slices.Values(content)}, 1, "", limit)
		fail.On(t, err)
		have := map[digest.Digest]int64{}
		for _, v := range p.set.Volumes {
			if v.Size > limit {
				t.Errorf("%s has %d bytes of %d", v.Name, v.Size, limit)
			}
			for _, e := range v.Entries {
				if e.Path == "" {
					have[e.Digest] += e.Size
				}
				if e.Part != nil && e.Size > e.Part.Size-e.Part.At {
					t.Errorf("%s goes beyond its content", e.path())
				}
			}
		}
		for _, d := range content {
			if d.Size != have[d.Digest] {
				t.Errorf("%d bytes of %s, want %d", have[d.Digest], d.Digest, d.Size)
			}
		}
		text := encoded(t, p.set)
		again, err := parse(bytes.NewReader(text), true, nil)
		fail.On(t, err)
		if !reflect.DeepEqual(p.set, again) { // ten times as fast as a difference
			fail.Diff(t, p.set, again)
		}
		if _, err := parseSet(text); (err == nil) == p.set.split() {
			t.Errorf("as a finished set: %v", err)
		}
	})
}
