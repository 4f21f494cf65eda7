package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

func TestPreludeIsTar(t *testing.T) {
	long := layout.BlobPath(digest.SHA512.FromString("x"))
	for _, tc := range []struct {
		path string
		size int64
	}{
		{"oci-layout", 30}, {layout.BlobPath(digest.FromString("x")), 0}, {"a", maxOctal - 1}, {"a", maxOctal}, {"a", 1 << 50},
		{strings.Repeat("p", 100), 1}, {strings.Repeat("p", 101), 1}, {long, 5}, {long, maxOctal},
	} {
		raw := tarHeader(tc.path, tc.size)
		if len(raw)%blockSize != 0 || len(raw) > maxTarHeader {
			t.Errorf("%s: %d bytes", tc.path, len(raw))
		}
		h, err := tar.NewReader(bytes.NewReader(raw)).Next()
		if err != nil {
			t.Errorf("%s of %d bytes: %v", tc.path, tc.size, err)
			continue
		}
		if h.Name != tc.path || h.Size != tc.size || h.Mode != 0o644 || h.Typeflag != tar.TypeReg || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s of %d bytes is read as %+v", tc.path, tc.size, h)
		}
	}
}

// TestVolumesAreTar checks that a tar reader finds the entries listed in the set manifest.
func TestVolumesAreTar(t *testing.T) {
	s, dir := newSample(1, 20000, 0, 9000, 512), t.TempDir()
	raw := []byte("named by a longer digest")
	desc := ocispec.Descriptor{Digest: digest.SHA512.FromBytes(raw), Size: int64(len(raw))}
	s.bytes[desc.Digest], s.Entries = raw, append(s.Entries, desc)
	s.write(t, dir, Options{VolumeSize: 32 << 10})
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(a.set.Volumes) < 2 {
		t.Fatal("there is one volume only")
	}
	for i, v := range a.set.Volumes {
		if v.Size > 32<<10 {
			t.Errorf("%s has %d bytes", v.Name, v.Size)
		}
		var found []entry
		r := tar.NewReader(io.NewSectionReader(a.members[0].volumes[i].files[0], 0, a.set.Volumes[i].Size))
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, entry{Path: h.Name, Size: h.Size, Digest: digest.FromBytes(content)})
		}
		var want []entry
		for _, e := range v.Entries {
			d := e.Digest
			if d.Algorithm() == digest.SHA512 {
				d = digest.FromBytes(raw)
			}
			want = append(want, entry{Path: e.path(), Size: e.Size, Digest: d})
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: %s", v.Name, diff)
		}
	}
	first := a.set.Volumes[0].Entries
	for i, want := range []string{"gantry/000001.0001.json", "oci-layout", "index.json", "gantry/plan.json.gz"} {
		if first[i].Path != want {
			t.Errorf("entry %d is %s, not %s", i, first[i].Path, want)
		}
	}
}

// extract extracts all volumes of a folder to a new folder.
func extract(t *testing.T, dir string) string {
	t.Helper()
	program, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("there is no tar")
	}
	to := t.TempDir()
	volumes, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes {
		if out, err := exec.CommandContext(t.Context(), program, "xf", v, "-C", to).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("tar xf %s: %v\n%s", v, err, out)
		}
	}
	return to
}

func TestExtractedIsLayout(t *testing.T) {
	s, dir := newSample(1, 20000, 0, 9000, 512), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 32 << 10})
	to := extract(t, dir)
	for d, want := range s.bytes {
		if got, err := os.ReadFile(filepath.Join(to, layout.BlobPath(d))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", d, err)
		}
	}
	path, err := gcrlayout.FromPath(to)
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 4 {
		t.Errorf("the index has %d images", len(manifest.Manifests))
	}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img, validate.Fast); err != nil {
			t.Errorf("%s: %v", m.Digest, err)
		}
	}
	program, err := exec.LookPath("skopeo")
	if err != nil {
		t.Skip("there is no skopeo")
	}
	for _, name := range []string{"image0", "image3"} {
		out, err := exec.CommandContext(t.Context(), program, "inspect", "--raw", "oci:"+to+":"+name).CombinedOutput()
		if err != nil {
			t.Errorf("skopeo inspect %s: %v\n%s", name, err, out)
		}
		out, err = exec.CommandContext(t.Context(), program, "--insecure-policy", "copy", "oci:"+to+":"+name, "dir:"+t.TempDir()).CombinedOutput()
		if err != nil {
			t.Errorf("skopeo copy %s: %v\n%s", name, err, out)
		}
	}
}

// TestSumIsSha256sum checks that sha256sum can verify the set manifest with its checksum file.
func TestSumIsSha256sum(t *testing.T) {
	s, dir := newSample(1, 100), t.TempDir()
	s.write(t, dir, Options{})
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("there is no sha256sum")
	}
	cmd := exec.CommandContext(t.Context(), program, "--strict", "-c", sumName(1))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
