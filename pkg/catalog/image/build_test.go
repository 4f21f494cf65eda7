package image

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// The layers of the tests, in the order of a catalog image of opm.
var (
	base    = []header{{"bin/", ""}, {"bin/opm", "program"}, {"etc/passwd", "root"}, {"tmp/", ""}}
	baseArm = []header{{"bin/", ""}, {"bin/opm", "arm program"}, {"etc/passwd", "root"}, {"tmp/", ""}}
	configs = []header{{"configs/", ""}, {"configs/a/", ""}, {"configs/a/catalog.json", "A"}, {"configs/b/catalog.json", "B"}}
	cache   = []header{{"tmp/", ""}, {"tmp/cache/", ""}, {"tmp/cache/pogreb.v1/digest", "old"}}
	mixed   = []header{{"configs/", ""}, {"configs/a/catalog.json", "A"}, {"configs/old/catalog.json", "O"}, {"etc/release", "8"}}
)

var opmServe = []string{"serve", "/configs", "--cache-dir=/tmp/cache"}

// filtered is the new catalog.
var filtered = map[string]image.File{"a/catalog.json": text("A2"), "z/catalog.json": text("Z")}

func filteredFiles() map[string]string {
	return map[string]string{"a/catalog.json": "A2", "z/catalog.json": "Z"}
}

// images returns the images of a root, read by go-containerregistry.
func images(t *testing.T, m *memory, root ocispec.Descriptor) []v1.Image {
	t.Helper()
	top, err := m.layoutOf(t, root).ImageIndex()
	fail.On(t, err)
	if !manifest.IsIndex(root.MediaType) {
		img, err := top.Image(v1.Hash{Algorithm: "sha256", Hex: root.Digest.Encoded()})
		fail.On(t, err)
		layers, err := img.Layers()
		fail.On(t, err)
		var options []validate.Option
		if mediaType, err := layers[0].MediaType(); err != nil || !strings.HasSuffix(string(mediaType), "gzip") {
			options = append(options, validate.Fast) // it reads every layer as gzip
		}
		fail.On(t, validate.Image(img, options...))
		return []v1.Image{img}
	}
	ix, err := top.ImageIndex(v1.Hash{Algorithm: "sha256", Hex: root.Digest.Encoded()})
	fail.On(t, err)
	fail.On(t, validate.Index(ix))
	lines, err := ix.IndexManifest()
	fail.On(t, err)
	var all []v1.Image
	for _, line := range lines.Manifests {
		img, err := ix.Image(line.Digest)
		fail.On(t, err)
		all = append(all, img)
	}
	return all
}

// TestBuild rebuilds images and reads them as a container runtime and as catalogd do: both must see
// the new catalog and nothing of the old one (T1).
func TestBuild(t *testing.T) {
	opm := []string{"/bin/opm"}
	tests := []struct {
		name    string
		sources []source // one: a manifest; several: an index
		kept    []int    // source layers that every platform keeps
		gone    []string // paths that the unpacked image must not have
		opened  bool     // build without reading first
	}{
		{"opm image", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}}}, []int{0}, []string{"tmp/cache"}, false},
		{"docker", []source{{docker: true, entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}}}, []int{0}, []string{"tmp/cache"}, false},
		{"zstd", []source{{zstd: true, entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}}}, []int{0}, nil, false},
		{"not compressed", []source{{plain: true, entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}}}, []int{0}, nil, false},
		{"only opened", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}}}, []int{0, 1, 2}, []string{"tmp/cache/pogreb.v1"}, true},
		{"mixed", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, mixed, configs, cache}}}, []int{0, 1}, []string{"configs/old", "tmp/cache"}, false},
		{"cache beside a program", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, append(slices.Clone(cache), header{"bin/x", "x"})}}}, []int{0, 2}, []string{"tmp/cache/pogreb.v1"}, false},
		{"all in one layer", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{slices.Concat(base, configs, cache[1:])}}}, []int{0}, []string{"tmp/cache/pogreb.v1"}, false},
		{"other directory", []source{{label: "/srv/index/", entrypoint: opm, cmd: []string{"serve", "/srv/index"}, layers: [][]header{
			base, {{"srv/", ""}, {"srv/index/", ""}, {"srv/index/old.json", "old"}, {"srv/index/a/catalog.json", "A"}}, {{"srv/keep", "K"}},
		}}}, []int{0, 2}, []string{"srv/index/old.json"}, false},
		{"other cache", []source{{entrypoint: opm, cmd: []string{"serve", "configs", "--cache-dir", "/var/c"}, layers: [][]header{base, configs, {{"var/c/digest", "old"}}}}}, []int{0}, []string{"var/c"}, false},
		{"root whiteout of an earlier rebuild", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, mixed, {{".wh.configs", ""}}, configs}}}, []int{0, 1}, []string{"configs/old"}, false},
		{"whiteout of another file", []source{{entrypoint: opm, cmd: opmServe, layers: [][]header{base, append(slices.Clone(configs), header{"etc/.wh.passwd", ""})}}}, []int{0, 1}, []string{"etc/passwd", "configs/b"}, false},
		{"no program", []source{{layers: [][]header{configs, cache}}}, []int{}, []string{"tmp/cache", "configs/b"}, false},
		{"two platforms", []source{
			{arch: "amd64", entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}},
			{arch: "arm64", entrypoint: opm, cmd: opmServe, layers: [][]header{baseArm, configs, append(slices.Clone(cache), header{"tmp/cache/seed", "arm"})}},
		}, []int{0}, []string{"tmp/cache/pogreb.v1"}, false},
		{"two docker platforms", []source{
			{arch: "arm64", docker: true, entrypoint: opm, cmd: opmServe, layers: [][]header{baseArm, configs, cache}},
			{arch: "amd64", docker: true, entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}},
		}, []int{0}, []string{"tmp/cache/pogreb.v1"}, false},
		{"catalog in a base layer of one platform", []source{
			{arch: "amd64", entrypoint: opm, cmd: opmServe, layers: [][]header{base, configs, cache}},
			{arch: "arm64", entrypoint: opm, cmd: opmServe, layers: [][]header{append(slices.Clone(baseArm), header{"configs/hidden.json", "H"}), configs, cache}},
		}, []int{0}, []string{"configs/hidden.json"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMemory()
			var root ocispec.Descriptor
			if len(test.sources) == 1 {
				root = m.putImage(t, test.sources[0].image(t))
			} else {
				root = m.putIndex(t, index(t, test.sources...))
			}
			before := images(t, m, root)
			img, err := Open(t.Context(), m, "", root)
			fail.On(t, err)
			if !test.opened {
				img, _, err = read(t, m, root)
				fail.On(t, err)
			}
			built, err := build(t.Context(), m, img, filtered)
			fail.On(t, err)
			fail.Diff(t, root.MediaType, built.Root.MediaType)
			if last := built.New[len(built.New)-1]; last.Digest != built.Root.Digest {
				t.Errorf("the root is not written last")
			}
			after := images(t, m, built.Root)
			if len(after) != len(before) {
				t.Fatalf("%d platforms, want %d", len(after), len(before))
			}
			tops := map[v1.Hash]bool{}
			for n := range after {
				checkPlatform(t, before[n], after[n], img.dir, test.kept, test.gone, tops)
			}
			fail.Diff(t, 1, len(tops))
		})
	}
}

func checkPlatform(t *testing.T, before, after v1.Image, dir string, kept []int, gone []string, tops map[v1.Hash]bool) {
	t.Helper()
	runtime, catalogd := unpacked(t, after, dir)
	fail.Diff(t, filteredFiles(), runtime.files(dir))
	fail.Diff(t, filteredFiles(), catalogd.files(dir))
	for _, name := range gone {
		if _, ok := runtime[name]; ok {
			t.Errorf("%s is still there", name)
		}
	}
	if _, ok := runtime["bin/opm"]; !ok && len(kept) > 0 {
		t.Error("the program is missing")
	}
	if runtime["tmp"] != "/" {
		t.Error("there is no /tmp, in which opm makes its cache")
	}
	old, err := before.Manifest()
	fail.On(t, err)
	now, err := after.Manifest()
	fail.On(t, err)
	var want, got []v1.Hash
	want = append(want, elements.Map(kept, func(n int) v1.Hash { return old.Layers[n].Digest })...)
	got = append(got, elements.Map(now.Layers[:len(now.Layers)-1], func(l v1.Descriptor) v1.Hash { return l.Digest })...)
	fail.Diff(t, want, got)
	top := now.Layers[len(now.Layers)-1]
	tops[top.Digest] = true
	fail.Diff(t, strings.Contains(string(top.MediaType), "docker"), strings.Contains(string(now.MediaType), "docker"))
	checkConfig(t, before, after, len(kept)+1)
}

func checkConfig(t *testing.T, before, after v1.Image, layers int) {
	t.Helper()
	old, err := before.ConfigFile()
	fail.On(t, err)
	now, err := after.ConfigFile()
	fail.On(t, err)
	fail.Diff(t, old.Config.Labels, now.Config.Labels)
	fail.Diff(t, old.Config.Entrypoint, now.Config.Entrypoint)
	if strings.Contains(strings.Join(now.Config.Cmd, " "), "cache") {
		t.Errorf("the command still has a cache: %q", now.Config.Cmd)
	}
	fail.Diff(t, layers, len(now.RootFS.DiffIDs))
	if !now.Created.Equal(old.Created.Time) || now.Architecture != old.Architecture {
		t.Errorf("created or architecture changed: %v, %s", now.Created, now.Architecture)
	}
	fail.Diff(t, layers, len(now.History))
}

// TestBuildIndex checks what an index keeps.
func TestBuildIndex(t *testing.T) {
	m := newMemory()
	ix := index(t,
		source{arch: "arm64", layers: [][]header{baseArm, configs}},
		source{arch: "amd64", layers: [][]header{base, configs}},
	)
	root := m.putIndex(t, ix)
	raw := m.blobs[root.Digest]
	o, err := image.DecodeObject(raw)
	fail.On(t, err)
	var lines []image.Object
	fail.On(t, o.Field("manifests", &lines))
	attestation := image.Object{}
	for key, v := range map[string]any{
		"mediaType": ocispec.MediaTypeImageManifest, "size": 2, "digest": digestOf("attestation"),
		"platform": map[string]string{"os": "unknown", "architecture": "unknown"},
	} {
		attestation, err = attestation.With(key, v)
		fail.On(t, err)
	}
	lines[0], err = lines[0].With("data", "b2xk")
	fail.On(t, err)
	o, err = o.With("manifests", append(lines, attestation))
	fail.On(t, err)
	o, err = o.With("annotations", map[string]string{"a": "<1>"})
	fail.On(t, err)
	o, err = o.With("x-unknown", 12345678901234567890.0)
	fail.On(t, err)
	root = m.put(root.MediaType, mustEncode(t, o))

	img, files, err := read(t, m, root)
	fail.On(t, err)
	fail.Diff(t, map[string]string{"a/catalog.json": "A", "b/catalog.json": "B"}, files)
	built, err := build(t.Context(), m, img, filtered)
	fail.On(t, err)
	now, err := image.DecodeObject(m.blobs[built.Root.Digest])
	fail.On(t, err)
	for _, key := range []string{"annotations", "x-unknown", "schemaVersion", "mediaType"} {
		fail.Diff(t, string(o[key]), string(now[key]))
	}
	var kept []ocispec.Descriptor
	fail.On(t, now.Field("manifests", &kept))
	var notes []string
	for _, line := range kept {
		if line.Data != nil {
			t.Errorf("the manifest of %s carries the old one as data", line.Platform.Architecture)
		}
		notes = append(notes, line.Platform.Architecture+" "+line.Annotations["note"])
	}
	fail.Diff(t, []string{"arm64 arm64", "amd64 amd64"}, notes)
	if len(built.Source) != 2 || len(built.Dropped) != 1 {
		t.Errorf("%d layers kept and %d dropped, want 2 and 1", len(built.Source), len(built.Dropped))
	}
	// The layer, a config and a manifest for each platform, the index.
	fail.Diff(t, 6, len(built.New))
	if !built.BinaryLess || built.Directory != "/configs" {
		t.Errorf("binary-less %v in %s", built.BinaryLess, built.Directory)
	}
}

// TestBuildAgain checks T9: the same input gives the same image.
func TestBuildAgain(t *testing.T) {
	var roots []ocispec.Descriptor
	for range 3 {
		m := newMemory()
		root := m.putIndex(t, index(t,
			source{arch: "amd64", entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{base, mixed, configs, cache}},
			source{arch: "s390x", entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{baseArm, mixed, configs, cache}},
		))
		img, _, err := read(t, m, root)
		fail.On(t, err)
		built, err := build(t.Context(), m, img, filtered)
		fail.On(t, err)
		roots = append(roots, built.Root)
		again, err := build(t.Context(), m, img, filtered)
		fail.On(t, err)
		roots = append(roots, again.Root)
	}
	for _, root := range roots[1:] {
		fail.Diff(t, roots[0], root)
	}
}

func TestBuildNames(t *testing.T) {
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{configs}}.image(t))
	img, _, err := read(t, m, root)
	fail.On(t, err)
	for _, name := range []string{"", "../x", "/x", "a/../x", "a//b", ".wh.a", ".wh..wh..opq/x", "a/"} {
		if _, err := build(t.Context(), m, img, map[string]image.File{name: text("")}); err == nil {
			t.Errorf("the file %q was written", name)
		}
	}
}
