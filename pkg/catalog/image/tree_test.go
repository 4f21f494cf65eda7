package image

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
)

var grown = image.Tree{
	Dir: "var/lib/data", Files: map[string][]byte{"a": []byte("A"), "d/b": []byte("B"), "empty": {}},
	Cmd: []string{"/bin/sh", "-c", "true"}, By: "data in /var/lib/data",
}

func TestPut(t *testing.T) {
	want := map[string]string{"a": "A", "d/b": "B", "empty": ""}
	old := []header{{"var/", ""}, {"var/lib/data/a", "old"}, {"var/lib/data/gone", "old"}}
	for name, sources := range map[string][]source{
		"docker":         {{docker: true, entrypoint: []string{"/bin/tool"}, cmd: []string{"run"}, layers: [][]header{base}}},
		"OCI":            {{layers: [][]header{base, configs}}},
		"two platforms":  {{arch: "arm64", layers: [][]header{baseArm, configs}}, {arch: "amd64", docker: false, entrypoint: []string{"/bin/tool"}, layers: [][]header{base, configs}}},
		"a tree already": {{docker: true, layers: [][]header{base, old}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			var root ocispec.Descriptor
			if len(sources) == 1 {
				root = m.putImage(t, sources[0].image(t))
			} else {
				root = m.putIndex(t, index(t, sources...))
			}
			before := images(t, m, root)
			built, err := image.AddTree(t.Context(), m, grown, opened(t, m, root))
			fail.On(t, err)
			for n, img := range images(t, m, built.Root) {
				runtime, _ := unpacked(t, img, grown.Dir)
				fail.Diff(t, want, runtime.files(grown.Dir))
				config, err := img.ConfigFile()
				fail.On(t, err)
				if len(config.Config.Entrypoint) > 0 || !cmp.Equal(config.Config.Cmd, grown.Cmd) {
					t.Errorf("it runs %q %q", config.Config.Entrypoint, config.Config.Cmd)
				}
				if last := config.History[len(config.History)-1]; last.CreatedBy != "gantry: data in /var/lib/data" {
					t.Errorf("the history ends with %q", last.CreatedBy)
				}
				first, err := before[n].Manifest()
				fail.On(t, err)
				now, err := img.Manifest()
				fail.On(t, err)
				fail.Diff(t, first.Layers, now.Layers[:len(now.Layers)-1])
			}
			again, err := image.AddTree(t.Context(), newMemory(), grown, opened(t, m, root))
			fail.On(t, err)
			fail.Diff(t, built, again)
			fail.Diff(t, want, treeOf(t, m, built.Root))
		})
	}
}

// TestPutOnSeveral joins the images of single platforms. If two have the same platform, the first
// is used.
func TestPutOnSeveral(t *testing.T) {
	m := newMemory()
	amd64 := opened(t, m, m.putImage(t, source{docker: true, layers: [][]header{base}}.image(t)))
	arm64 := opened(t, m, m.putImage(t, source{arch: "arm64", layers: [][]header{baseArm}}.image(t)))
	both := opened(t, m, m.putIndex(t, index(t, source{arch: "arm64", layers: [][]header{baseArm, configs}}, source{arch: "s390x", layers: [][]header{base}})))
	built, err := image.AddTree(t.Context(), m, grown, amd64, arm64, both)
	fail.On(t, err)
	joined, err := image.Open(t.Context(), m, "", built.Root)
	fail.On(t, err)
	got := elements.Map(joined.Platforms, func(p *image.Platform) string { return p.String() })
	if want := []string{"linux/amd64", "linux/arm64", "linux/s390x"}; !slices.Equal(got, want) || built.Root.MediaType != ocispec.MediaTypeImageIndex {
		t.Fatalf("a %s of %v, want %v", built.Root.MediaType, got, want)
	}
	// Each is the same as when built alone.
	for n, one := range []*image.Image{amd64, arm64} {
		alone, err := image.AddTree(t.Context(), newMemory(), grown, one)
		fail.On(t, err)
		if line := joined.Platforms[n].Descriptor; line.Digest != alone.Root.Digest || line.MediaType != alone.Root.MediaType || line.Size != alone.Root.Size {
			t.Errorf("%s is %v, and alone %v", joined.Platforms[n], line, alone.Root)
		}
	}
	again, err := image.AddTree(t.Context(), newMemory(), grown, amd64, arm64, both)
	fail.On(t, err)
	fail.Diff(t, built, again)
	fail.Diff(t, map[string]string{"a": "A", "d/b": "B", "empty": ""}, treeOf(t, m, built.Root))
}

func opened(t *testing.T, m *memory, root ocispec.Descriptor) *image.Image {
	t.Helper()
	img, err := image.Open(t.Context(), m, "", root)
	fail.On(t, err)
	return img
}

func treeOf(t *testing.T, m *memory, root ocispec.Descriptor) map[string]string {
	t.Helper()
	got := map[string]string{}
	fail.On(t, image.ReadTree(t.Context(), opened(t, m, root), grown.Dir, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		got[name] = string(data)
		return err
	}))
	return got
}

func TestFilesOfTree(t *testing.T) {
	for name, layers := range map[string][][]header{
		"as tar has it":         {{{"/var/lib/data/a", "A"}, {"./var/lib/data/d/b", "B"}, {"var/lib/database", "x"}}},
		"below other layers":    {base, {{"var/lib/data/a", "A"}, {"var/lib/data/d/b", "B"}}, base, configs},
		"over an older one":     {{{"var/lib/data/old", "O"}}, {{"var/lib/data/a", "A"}, {"var/lib/data/d/b", "B"}}},
		"without removed files": {{{"var/lib/data/a", "A"}, {"var/lib/data/d/b", "B"}, {"var/lib/data/c", "C"}}, {{"var/lib/data/.wh.c", ""}}},
	} {
		m := newMemory()
		root := m.putImage(t, source{layers: layers}.image(t))
		if diff := cmp.Diff(map[string]string{"a": "A", "d/b": "B"}, treeOf(t, m, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{base, {{"var/lib/data/a", "A"}}, {{"var/lib/.wh.data", ""}}}}.image(t))
	err := image.ReadTree(t.Context(), opened(t, m, root), grown.Dir, func(string, io.Reader) error { return nil })
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no layer of platform linux/amd64 has a file there") {
		t.Errorf("an image without the tree: %v", err)
	}
	if err := image.ReadTree(t.Context(), opened(t, m, m.putImage(t, source{layers: [][]header{{{"var/lib/data/a", "A"}}}}.image(t))), grown.Dir, func(string, io.Reader) error {
		return errors.ErrUnsupported
	}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("each's own error is lost: %v", err)
	}
}
