package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// A sample is content for an archive, with its bytes.
type sample struct {
	Content
	Entries []ocispec.Descriptor // the entries of Content
	plan    []byte
	names   []ocispec.Descriptor // the manifests of Index
	bytes   map[digest.Digest][]byte
}

// content returns the argument for Create.
func (s *sample) content() Content {
	c := s.Content
	c.Entries = slices.Values(s.Entries)
	return c
}

func (s *sample) add(mediaType string, raw []byte) ocispec.Descriptor {
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	if _, ok := s.bytes[desc.Digest]; !ok {
		s.bytes[desc.Digest] = raw
		s.Entries = append(s.Entries, desc)
	}
	return desc
}

// newSample returns images with one random layer each, of the given sizes.
func newSample(seed uint64, sizes ...int) *sample {
	random := rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, seed)))
	s := &sample{bytes: map[digest.Digest][]byte{}}
	s.plan = fmt.Appendf(nil, `{"plan":%d}`, seed)
	s.Plan = writeBytes(s.plan)
	for i, size := range sizes {
		layer := make([]byte, size)
		_, _ = random.Read(layer)
		manifest := ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
			Config: s.add(ocispec.MediaTypeImageConfig, fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"author":"%d"}`, i)),
			Layers: []ocispec.Descriptor{s.add("application/vnd.oci.image.layer.v1.tar", layer)},
		}
		raw, _ := json.Marshal(manifest) // cannot fail
		desc := s.add(ocispec.MediaTypeImageManifest, raw)
		desc.Annotations = map[string]string{ocispec.AnnotationRefName: fmt.Sprintf("image%d", i)}
		s.names = append(s.names, desc)
	}
	s.Index = slices.Values(s.names)
	return s
}

// open returns the argument for PutBlob.
func (s *sample) open(d digest.Digest) func(context.Context, int64) (io.ReadCloser, error) {
	return func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(s.bytes[d][offset:])), nil
	}
}

// put writes the entries that a Writer does not have yet, and returns their number.
func (s *sample) put(t testing.TB, w *Writer) int {
	t.Helper()
	n := 0
	for _, e := range s.Entries {
		if w.Has(e) {
			continue
		}
		n++
		var err error
		if manifest.Is(e.MediaType) {
			err = w.PutManifest(t.Context(), "some/repository", e, s.bytes[e.Digest], []string{"tag"})
		} else {
			err = w.PutBlob(t.Context(), "some/repository", e, s.open(e.Digest))
		}
		fail.On(t, err)
		if !w.Has(e) {
			t.Fatalf("%s was put and is not there", e.Digest)
		}
	}
	return n
}

// write writes an archive of the sample.
func (s *sample) write(t testing.TB, dir string, opts Options) {
	t.Helper()
	w, err := Create(t.Context(), dir, s.content(), opts)
	fail.On(t, err)
	s.put(t, w)
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
}

// readPlan reads the plan of an archive.
func readPlan(ctx context.Context, a *Archive) ([]byte, error) {
	text, err := a.OpenPlan(ctx)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return io.ReadAll(text)
}

// readBlob reads content from an offset.
func readBlob(t testing.TB, a *Archive, desc ocispec.Descriptor, offset int64) ([]byte, error) {
	t.Helper()
	body, err := a.Blob(t.Context(), "", desc, offset)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(body)
	return raw, errors.Join(err, body.Close())
}

// check reads all content back and compares it.
func (s *sample) check(t testing.TB, dir string) {
	t.Helper()
	a, err := Open(dir)
	fail.On(t, err)
	defer func() {
		fail.On(t, a.Close())
	}()
	plan, err := readPlan(t.Context(), a)
	if diff := cmp.Diff(string(s.plan), string(plan)); diff != "" || err != nil {
		t.Errorf("the plan: %s %v", diff, err)
	}
	for _, e := range s.Entries {
		if !a.Has(e) {
			t.Errorf("%s is not there", e.Digest)
			continue
		}
		if raw, err := readBlob(t, a, e, 0); err != nil || !bytes.Equal(raw, s.bytes[e.Digest]) {
			t.Errorf("%s: %d bytes, %v", e.Digest, len(raw), err)
		}
		if manifest.Is(e.MediaType) {
			desc, raw, err := a.Manifest(t.Context(), "", e.Digest)
			if diff := cmp.Diff(e, desc); diff != "" || err != nil || !bytes.Equal(raw, s.bytes[e.Digest]) {
				t.Errorf("manifest %s: %s %v", e.Digest, diff, err)
			}
		}
	}
	var read int64
	fail.On(t, a.Verify(t.Context(), func(n int64) { read += n }))
	fail.Diff(t, a.Size(), read)
}

// folder reads all files of a folder.
func folder(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(raw)
		return err
	})
	fail.On(t, err)
	return files
}

// names lists the files of a folder.
func names(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	for name := range folder(t, dir) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestRoundTrip(t *testing.T) {
	for name, tc := range map[string]struct {
		sample  *sample
		size    int64
		volumes int
	}{
		"nothing":      {newSample(1), 0, 1},
		"an image":     {newSample(2, 1000), 0, 1},
		"empty layers": {newSample(3, 0, 0, 1), 0, 1},
		"blocks":       {newSample(4, 511, 512, 513, 1024), 0, 1},
		"buffers":      {newSample(5, writeBuffer-1, writeBuffer, writeBuffer+1, writeBuffer-2*blockSize, writeBuffer-blockSize, 3*writeBuffer), 0, 1},
		"volumes":      {newSample(6, 20000, 20000, 20000, 9000, 9000, 9000), 32 << 10, 4},
		"parts":        {newSample(7, 100000, 10, 20), 16 << 10, 9},
		"many parts":   {newSample(8, 100000, 50000, 13000, 0, 40000), 17000, 16},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tc.sample.write(t, dir, Options{VolumeSize: tc.size, withoutCopy: true})
			tc.sample.check(t, dir)
			want := []string{"gantry-000001.json", "gantry-000001.json.sha256"}
			for i := range tc.volumes {
				want = append(want, volumeName(1, i+1))
			}
			slices.Sort(want)
			fail.Diff(t, want, names(t, dir))
		})
	}
}

// TestDeterminism checks that the order and concurrency of writing do not change the bytes.
func TestDeterminism(t *testing.T) {
	s := newSample(1, 50000, 1, 7000, 7000, 30000, 0, 512)
	var first map[string]string
	for i := range 5 {
		dir := t.TempDir()
		rand.Shuffle(len(s.Entries), func(i, j int) { s.Entries[i], s.Entries[j] = s.Entries[j], s.Entries[i] })
		w, err := Create(t.Context(), dir, s.content(), Options{VolumeSize: 40000})
		fail.On(t, err)
		done := make(chan error)
		for _, e := range s.Entries {
			for range 2 { // the second call comes while the first is in progress or after it
				go func() { done <- w.PutBlob(t.Context(), "", e, s.open(e.Digest)) }()
			}
		}
		for range 2 * len(s.Entries) {
			fail.On(t, <-done)
		}
		fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
		if i == 0 {
			first = folder(t, dir)
			s.check(t, dir)
		} else if diff := cmp.Diff(first, folder(t, dir)); diff != "" {
			t.Fatalf("other bytes: %.2000s", diff)
		}
	}
}

func TestSecondRunHasNothingToDo(t *testing.T) {
	s, dir := newSample(1, 1000, 2000), t.TempDir()
	s.write(t, dir, Options{})
	before := folder(t, dir)
	w, err := Create(t.Context(), dir, s.content(), Options{freeSpace: func(string) (int64, error) { return 0, nil }})
	fail.On(t, err)
	if !w.Complete() || w.Sequence() != 1 || !w.Has(s.Entries[0]) {
		t.Errorf("Complete() = %v, Sequence() = %d", w.Complete(), w.Sequence())
	}
	fail.On(t, w.PutBlob(t.Context(), "", s.Entries[0], func(context.Context, int64) (io.ReadCloser, error) { return nil, errors.New("opened") }))
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	fail.Diff(t, before, folder(t, dir))
}

func TestSequences(t *testing.T) {
	dir := t.TempDir()
	one, two, three := newSample(1, 1000), newSample(2, 2000), newSample(3, 3000)
	one.write(t, dir, Options{})
	first := folder(t, dir)
	two.write(t, dir, Options{})
	two.check(t, dir)
	both := folder(t, dir)
	for name, text := range first {
		fail.Diff(t, text, both[name])
	}
	var s set
	fail.On(t, json.Unmarshal([]byte(both[setName(2)]), &s))
	if want := digest.FromString(first[setName(1)]); s.Parent != want || s.Sequence != 2 {
		t.Errorf("sequence %d, parent %s; want 2, %s", s.Sequence, s.Parent, want)
	}
	three.write(t, dir, Options{Replace: true})
	three.check(t, dir)
	fail.Diff(t, []string{volumeName(3, 1), setName(3), sumName(3)}, names(t, dir))
}

func TestCreateRefuses(t *testing.T) {
	s := newSample(1, 100000)
	entry := s.Entries[0]
	for name, tc := range map[string]struct {
		content Content
		opts    Options
		want    string
	}{
		"twice":            {Content{Plan: s.Plan, Entries: slices.Values([]ocispec.Descriptor{entry, entry})}, Options{}, "twice"},
		"digest":           {Content{Plan: s.Plan, Entries: slices.Values([]ocispec.Descriptor{{Digest: "sha256:../../x"}})}, Options{}, "digest"},
		"size":             {Content{Plan: s.Plan, Entries: slices.Values([]ocispec.Descriptor{{Digest: entry.Digest, Size: -1}})}, Options{}, "size -1"},
		"index":            {Content{Plan: s.Plan, Index: s.Index}, Options{}, "not among the content"},
		"plan":             {Content{}, Options{}, "no plan"},
		"small volumes":    {s.content(), Options{VolumeSize: 10000}, "at least"},
		"negative volumes": {s.content(), Options{VolumeSize: -1}, "at least"},
		"strict":           {s.content(), Options{VolumeSize: 16 << 10, Strict: true}, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Create(t.Context(), dir, tc.content, tc.opts)
			says(t, err, tc.want, dir)
			fail.Diff(t, []string(nil), names(t, dir))
		})
	}
}

func TestOpenWithoutArchive(t *testing.T) {
	dir := t.TempDir()
	open := func(want string) {
		t.Helper()
		if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(advice.Text(err), want) || strings.Contains(err.Error(), "file does not exist") {
			t.Errorf("Open = %v, want %q", err, want)
		}
	}
	open("gantry-000001.0001.tar")
	if _, err := Inspect(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Inspect = %v", err)
	}
	s := newSample(1, 1000)
	s.write(t, dir, Options{})
	fail.On(t, os.Remove(filepath.Join(dir, setName(1))))
	fail.On(t, os.Truncate(filepath.Join(dir, volumeName(1, 1)), 100))
	open("copy the volumes again")
	dir = t.TempDir()
	w, err := Create(t.Context(), dir, s.content(), Options{})
	fail.On(t, err)
	s.put(t, w)
	fail.On(t, w.Close())
	open("not finished")
	dir = filepath.Join(dir, "absent")
	open("absent")
	fail.On(t, os.WriteFile(dir, nil, 0o600))
	open("name the folder")
}
