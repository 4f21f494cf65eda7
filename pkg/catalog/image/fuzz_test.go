package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// FuzzList lists any bytes as a layer. A layer with the verdict CatalogOnly may be dropped, so it
// must have no header anywhere else.
func FuzzList(f *testing.F) {
	for _, headers := range [][]header{base, configs, cache, mixed, {{"configs/.wh..wh..opq", ""}, {".wh.configs", ""}, {"configs/b", "-> a"}, {"configs/c", "=> configs/b"}}} {
		f.Add(pack(f, headers))
		f.Add(gzipped(f, pack(f, headers)))
		f.Add(zstandard(f, pack(f, headers)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := layers.Unpack(bytes.NewReader(data))
		if err != nil {
			return
		}
		left := layers.NewBudget(1 << 20)
		unpackedData, err := io.ReadAll(left.Limit(r))
		if err != nil {
			return
		}
		fail.On(t, r.Close())
		var given []string
		l := &image.Lister{Dir: "configs", Also: []string{"tmp/cache"}, Sums: true, Budget: left, File: func(name string, _ io.Reader) error {
			given = append(given, name)
			return nil
		}}
		found, err := l.List(bytes.NewReader(unpackedData))
		if err != nil {
			return
		}
		for _, name := range given {
			if !strings.HasPrefix(name, "configs/") || strings.Contains(name, "/../") || path.Clean(name) != name {
				t.Fatalf("the file %q was given", name)
			}
		}
		if verdict(found) != CatalogOnly {
			return
		}
		tr := tar.NewReader(bytes.NewReader(unpackedData))
		for {
			h, err := tr.Next()
			if err != nil {
				break
			}
			if h.Typeflag == tar.TypeXGlobalHeader {
				continue
			}
			name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
			dir, name2 := path.Split(name)
			if name2 == ".wh..wh..opq" {
				name = strings.TrimSuffix(dir, "/")
			} else {
				name = dir + strings.TrimPrefix(name2, ".wh.")
			}
			above := h.Typeflag == tar.TypeDir && (name == "" || name == "tmp")
			if !above && !under(name, "configs") && !under(name, "tmp/cache") {
				t.Fatalf("a layer with %q would be dropped", h.Name)
			}
		}
	})
}

// TestBuildRandom makes images from random programs and compares two things with simply unpacking all
// layers in order: the files that are read, and what a container runtime and catalogd see of the
// rebuilt image.
func TestBuildRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		buildRandom(t, seed)
	}
}

// FuzzBuild is the same for programs of a fuzzer.
//
// Slow: it packs and unpacks whole images; FuzzList reads the layers of strangers.
func FuzzBuild(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(buildRandom)
}

func buildRandom(t *testing.T, seed uint64) {
	t.Helper()
	layers := randomLayers(rand.New(rand.NewPCG(seed, 0)))
	m := newMemory()
	root, data := putLayers(t, m, layers)
	before := tree{}
	for _, layer := range data {
		before.apply(t, layer, nil)
	}
	img, got, err := read(t, m, root)
	if err != nil {
		if strings.Contains(err.Error(), "twice") || strings.Contains(err.Error(), "not a directory") || strings.Contains(err.Error(), "no file below") && len(before.files("configs")) == 0 {
			return
		}
		t.Fatalf("%v\n%q", err, layers)
	}
	if diff := cmp.Diff(before.files("configs"), got); diff != "" {
		t.Fatalf("the catalog (-want +got):\n%s\n%q", diff, layers)
	}
	built, err := build(t.Context(), m, img, filtered)
	fail.On(t, err)
	runtime, catalogd := tree{}, tree{}
	for _, layer := range layersOf(t, m, built.Root) {
		runtime.apply(t, layer, nil)
		catalogd.apply(t, layer, func(name string) bool { return under(name, "configs") })
	}
	for who, fs := range map[string]tree{"runtime": runtime, "catalogd": catalogd} {
		if diff := cmp.Diff(filteredFiles(), fs.files("configs")); diff != "" {
			t.Fatalf("a %s sees (-want +got):\n%s\n%q", who, diff, layers)
		}
	}
	// Everything else is unchanged.
	for _, fs := range []tree{before, runtime} {
		for name := range fs {
			if under(name, "configs") || under(name, "tmp") {
				delete(fs, name)
			}
		}
	}
	if diff := cmp.Diff(before, runtime); diff != "" {
		t.Fatalf("the rest of the image (-want +got):\n%s\n%q", diff, layers)
	}
}

// randomLayers makes layers with few names, so that these collide.
func randomLayers(r *rand.Rand) [][]header {
	dirs := []string{"", "configs", "configs", "configs/a", "configs/a/b", "tmp/cache", "tmp", "etc"}
	names := []string{"a", "b", "c", "configs", "x"}
	var layers [][]header
	for range 1 + r.IntN(5) {
		var headers []header
		for range 1 + r.IntN(4) {
			dir, name := dirs[r.IntN(len(dirs))], names[r.IntN(len(names))]
			switch r.IntN(8) {
			case 0:
				name = ".wh." + name
			case 1:
				name = ".wh..wh..opq"
			case 2:
				headers = append(headers, header{path.Join(dir, name) + "/", ""})
				continue
			}
			headers = append(headers, header{path.Join(dir, name), fmt.Sprintf("data %d", r.IntN(1000))})
		}
		layers = append(layers, headers)
	}
	return layers
}

// putLayers makes an image without go-containerregistry, which is too slow for a fuzz target.
func putLayers(t *testing.T, m *memory, layers [][]header) (ocispec.Descriptor, [][]byte) {
	t.Helper()
	var data [][]byte
	manifest := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest}
	config := ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}}
	config.Config.Labels = map[string]string{ConfigsLabel: "configs"}
	for _, headers := range layers {
		layer := pack(t, headers)
		data = append(data, layer)
		manifest.Layers = append(manifest.Layers, m.put(ocispec.MediaTypeImageLayer, layer))
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digest.FromBytes(layer))
	}
	manifest.Config = m.put(ocispec.MediaTypeImageConfig, mustEncode(t, config))
	return m.put(ocispec.MediaTypeImageManifest, mustEncode(t, manifest)), data
}

// layersOf returns the unpacked layers of a manifest.
func layersOf(t *testing.T, m *memory, root ocispec.Descriptor) [][]byte {
	t.Helper()
	o, err := image.DecodeObject(m.blobs[root.Digest])
	fail.On(t, err)
	var descs []ocispec.Descriptor
	fail.On(t, o.Field("layers", &descs))
	var data [][]byte
	for _, desc := range descs {
		blob, err := m.Blob(context.Background(), "", desc, 0)
		fail.On(t, err)
		r, err := layers.Unpack(blob)
		fail.On(t, err)
		layer, err := io.ReadAll(r)
		fail.On(t, err)
		data = append(data, layer)
	}
	return data
}
