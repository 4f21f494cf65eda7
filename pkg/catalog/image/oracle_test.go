package image

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A tree is an unpacked image: the content of a file, "/" for a directory, "-> target" for a
// symlink.
type tree map[string]string

// apply unpacks a layer over a tree, from the first header to the last, like containerd's archive
// package: a whiteout removes what is present, an opaque one what is not from this layer. keep, if
// not nil, is catalogd's filter: headers that it rejects are ignored.
func (fs tree) apply(t testing.TB, layer []byte, keep func(name string) bool) {
	t.Helper()
	brought := map[string]bool{}
	r := tar.NewReader(bytes.NewReader(layer))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		fail.On(t, err)
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if keep != nil && !keep(name) || name == "" {
			continue
		}
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		if base == ".wh..wh..opq" {
			for _, old := range slices.Collect(maps.Keys(fs)) {
				if under(old, dir) && old != dir && !brought[old] {
					delete(fs, old)
				}
			}
			continue
		}
		if after, ok := strings.CutPrefix(base, ".wh."); ok {
			fs.remove(path.Join(dir, after), brought)
			continue
		}
		for n, c := range name {
			if up := name[:n]; c == '/' {
				if fs[up] != "/" {
					fs.remove(up, nil)
					fs[up] = "/"
				}
				brought[up] = true
			}
		}
		brought[name] = true
		switch h.Typeflag {
		case tar.TypeDir:
			if fs[name] != "/" {
				fs.remove(name, nil)
			}
			fs[name] = "/"
		case tar.TypeSymlink:
			fs.remove(name, nil)
			fs[name] = "-> " + h.Linkname
		case tar.TypeLink:
			fs.remove(name, nil)
			fs[name] = fs[strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")]
		default:
			fs.remove(name, nil)
			data, err := io.ReadAll(r)
			fail.On(t, err)
			fs[name] = string(data)
		}
	}
}

// remove removes a name and what is below it, except what is in spare.
func (fs tree) remove(name string, spare map[string]bool) {
	for _, old := range slices.Collect(maps.Keys(fs)) {
		if under(old, name) && !spare[old] {
			delete(fs, old)
		}
	}
}

func under(name, dir string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}

// files returns the regular files and links below a directory, without its name.
func (fs tree) files(dir string) map[string]string {
	files := map[string]string{}
	for name, data := range fs {
		if data != "/" && under(name, dir) && name != dir {
			files[name[len(dir)+1:]] = data
		}
	}
	return files
}

// unpacked returns the trees of an image as a container runtime and as catalogd unpack it.
func unpacked(t *testing.T, img v1.Image, dir string) (runtime, catalogd tree) {
	t.Helper()
	runtime, catalogd = tree{}, tree{}
	layers, err := img.Layers()
	fail.On(t, err)
	for _, l := range layers {
		r, err := l.Uncompressed()
		fail.On(t, err)
		data, err := io.ReadAll(r)
		fail.On(t, err)
		runtime.apply(t, data, nil)
		catalogd.apply(t, data, func(name string) bool { return under(name, dir) })
	}
	return runtime, catalogd
}
