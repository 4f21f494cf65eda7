package pull

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// A brokenSource has one blob, and ends with err after so many bytes; -1 is never.
type brokenSource struct {
	text  string
	after int
	err   error
	from  []int64 // the offsets that were read from
}

func (b *brokenSource) Manifest(context.Context, string, digest.Digest) (ocispec.Descriptor, []byte, error) {
	return ocispec.Descriptor{}, nil, errors.ErrUnsupported
}

func (b *brokenSource) Blob(_ context.Context, _ string, _ ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	b.from = append(b.from, offset)
	rest := b.text[offset:]
	if b.after < 0 {
		return io.NopCloser(strings.NewReader(rest)), nil
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(rest[:b.after]), errReader{b.err})), nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestWriteContinues checks that a file that an earlier run wrote in part is continued, for any part.
func TestWriteContinues(t *testing.T) {
	t.Parallel()
	const text = "0123456789"
	f := site.MirroredFile{Name: "disk", Size: int64(len(text)), SHA256: digest.FromString(text), Executable: true}
	for _, tc := range []struct {
		name, partial string
		from          []int64
	}{
		{"none", "", []int64{0}},
		{"a part", "0123", []int64{4}},
		{"everything", text, []int64{10}},
		{"another content", "012x", []int64{4, 0}},
		{"too much", text + "x", []int64{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tc.partial != "" {
				fail.On(t, os.WriteFile(filepath.Join(dir, ".disk."+f.SHA256.Encoded()[:12]+".partial"), []byte(tc.partial), 0o644))
			}
			src := &brokenSource{text: text, after: -1}
			s := &FileSource{images: src, meter: &fileMeter{}}
			_, err := s.write(t.Context(), f, filepath.Join(dir, "disk"), false)
			fail.On(t, err)
			got, err := os.ReadFile(filepath.Join(dir, "disk"))
			if err != nil || string(got) != text || s.meter.read() != f.Size {
				t.Errorf("%q, %v, %d bytes counted", got, err, s.meter.read())
			}
			if len(src.from) != len(tc.from) || src.from[0] != tc.from[0] {
				t.Errorf("read from %v, expected %v", src.from, tc.from)
			}
			all, err := os.ReadDir(dir)
			if err != nil || len(all) != 1 {
				t.Errorf("files %v, %v", all, err)
			}
			if info, err := os.Stat(filepath.Join(dir, "disk")); err != nil || info.Mode()&0o100 == 0 {
				t.Errorf("it is no program: %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestWriteKeeps checks what of a file is kept when its source fails.
func TestWriteKeeps(t *testing.T) {
	t.Parallel()
	f := site.MirroredFile{Name: "disk", Size: 10, SHA256: digest.FromString("0123456789")}
	for _, tc := range []struct {
		err   error
		after int
		kept  string
	}{
		{io.ErrUnexpectedEOF, 4, "0123"},
		{io.ErrUnexpectedEOF, 0, ""},
		{remote.ErrMismatch, 4, ""},
		{advice.New(advice.Mismatch, "", "the volume is damaged"), 4, ""},
	} {
		dir := t.TempDir()
		s := &FileSource{images: &brokenSource{text: "0123456789", after: tc.after, err: tc.err}}
		if _, err := s.write(t.Context(), f, filepath.Join(dir, "disk"), false); !errors.Is(err, tc.err) {
			t.Errorf("error %v, expected %v", err, tc.err)
		}
		all, err := os.ReadDir(dir)
		if err != nil || (tc.kept == "") != (len(all) == 0) {
			t.Fatalf("%v: files %v, %v", tc.err, all, err)
		}
		if tc.kept == "" {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(dir, all[0].Name())); err != nil || string(got) != tc.kept {
			t.Errorf("%v: kept %q, %v", tc.err, got, err)
		}
	}
}

// TestWriteRate checks that a source that is no registry is limited, too.
func TestWriteRate(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3*minBurst)
	s := &FileSource{images: &brokenSource{text: text, after: -1}}
	s.limitRate(limits.Rate(20 * minBurst))
	began := time.Now()
	fail.On(t, s.copy(t.Context(), site.MirroredFile{Name: "x", Size: int64(len(text)), SHA256: digest.FromString(text)}, io.Discard))
	if took := time.Since(began); took < 90*time.Millisecond {
		t.Errorf("%d bytes took %s", len(text), took)
	}
}
