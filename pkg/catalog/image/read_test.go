package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// TestReadOverlay reads layers with links, odd names and marks. FuzzBuild covers files, directories and whiteouts.
func TestReadOverlay(t *testing.T) {
	tests := []struct {
		name   string
		layers [][]header
		want   map[string]string
	}{
		{"one layer", [][]header{configs}, map[string]string{"a/catalog.json": "A", "b/catalog.json": "B"}},
		{"notes of aufs", [][]header{configs, {{"configs/.wh..wh.plnk", "x"}}}, map[string]string{"a/catalog.json": "A", "b/catalog.json": "B"}},
		{"odd names", [][]header{{{"./configs/./a", "A"}, {"/configs/b", "B"}, {"configs//c", "C"}}}, map[string]string{"a": "A", "b": "B", "c": "C"}},
		{"names that begin alike", [][]header{{{"configs/a", "A"}, {"configs2/b", "B"}, {"config/c", "C"}}}, map[string]string{"a": "A"}},
		{"the same layer twice", [][]header{configs, {{"configs/.wh.a", ""}}, configs}, map[string]string{"a/catalog.json": "A", "b/catalog.json": "B"}},
		{"symlink", [][]header{{{"configs/a", "A"}, {"configs/d/b", "-> ../a"}}}, map[string]string{"a": "A", "d/b": "A"}},
		{"symlink from the root", [][]header{{{"configs/b", "-> /configs/a"}}, {{"configs/a", "A"}}}, map[string]string{"a": "A", "b": "A"}},
		{"symlink through a symlink", [][]header{{{"configs/d/a", "A"}, {"configs/b", "-> c"}, {"configs/c", "-> d/./a"}}}, map[string]string{"d/a": "A", "b": "A", "c": "A"}},
		{"symlink to what is replaced", [][]header{{{"configs/a", "A"}, {"configs/b", "-> a"}}, {{"configs/a", "A2"}}}, map[string]string{"a": "A2", "b": "A2"}},
		{"hard link to what is replaced", [][]header{{{"configs/a", "A"}, {"configs/b", "=> configs/a"}, {"configs/c", "=> configs/b"}}, {{"configs/a", "A2"}}}, map[string]string{"a": "A2", "b": "A", "c": "A"}},
		{"hard link to what is removed", [][]header{{{"configs/a", "A"}, {"configs/b", "=> /configs/a"}}, {{"configs/.wh.a", ""}}}, map[string]string{"b": "A"}},
		{"the directory is a link", [][]header{{{"configs", "-> /srv/"}}, {{"srv/a", "A"}, {"srv/d/b", "-> ../a"}}}, map[string]string{"a": "A", "d/b": "A"}},
		{"below a link", [][]header{{{"srv/x", "X"}, {"configs", "-> a/b"}}, {{"a/b", "-> ../srv"}}}, map[string]string{"x": "X"}},
		{"a directory over a link", [][]header{{{"configs", "-> srv"}, {"srv/a", "A"}}, {{"configs/b", "B"}}}, map[string]string{"b": "B"}},
		{"symlink out", [][]header{{{"configs/a", "A"}, {"configs/b", "-> ../srv/b"}, {"configs/c", "-> a"}}, {{"srv/b", "B"}}}, map[string]string{"a": "A", "b": "B", "c": "A"}},
		{"hard link out", [][]header{{{"srv/a", "A"}, {"configs/a", "=> srv/a"}, {"configs/b", "=> configs/a"}}, {{"srv/a", "A2"}}}, map[string]string{"a": "A", "b": "A"}},
		{"hidden broken links", [][]header{{{"configs/a", "-> /etc/passwd"}, {"configs/b", "=> etc/passwd"}}, {{"configs/a", "A"}, {"configs/.wh.b", ""}}}, map[string]string{"a": "A"}},
	}
	for _, test := range tests {
		for _, form := range []source{{}, {docker: true}, {zstd: true}, {plain: true}} {
			form.layers = test.layers
			m := newMemory()
			root := m.putImage(t, form.image(t))
			_, got, err := read(t, m, root)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

// TestReadHostile checks that ambiguous layers are rejected.
func TestReadHostile(t *testing.T) {
	long := strings.Repeat("n", 4096)
	tests := []struct {
		name   string
		layers [][]header
		want   string
	}{
		{"upwards", [][]header{{{"configs/../../etc/passwd", "x"}}}, "points upwards"},
		{"upwards elsewhere", [][]header{configs, {{"../x", "x"}}}, "points upwards"},
		{"upwards by a link", [][]header{{{"configs/a", "=> ../a"}}}, "points upwards"},
		{"one name twice", [][]header{{{"configs/a", "A"}, {"./configs/a", "B"}}}, "twice"},
		{"a link and a file", [][]header{{{"configs/a", "-> b"}, {"configs/a", "B"}}}, "twice"},
		{"below a file", [][]header{{{"configs/a", "A"}, {"configs/a/b", "B"}}}, "not a directory"},
		{"below a link", [][]header{{{"configs/a", "-> /etc"}, {"configs/a/passwd", "B"}}}, "not a directory"},
		{"out of the image", [][]header{{{"configs/a", "-> ../../../../etc/passwd"}}}, "does not exist"},
		{"hard link to what follows", [][]header{{{"configs/a", "=> srv/a"}, {"srv/a", "A"}}}, "is not before it"},
		{"hard link to another layer", [][]header{{{"srv/a", "A"}}, {{"configs/a", "=> srv/a"}}}, "is not before it"},
		{"hard link to nothing", [][]header{{{"configs/a", "=> configs/b"}}}, "is not before it"},
		{"dangling", [][]header{{{"configs/a", "-> b"}}}, "does not exist"},
		{"through a file", [][]header{{{"configs/b", "B"}, {"configs/a", "-> b/c"}}}, "not a directory"},
		{"to a directory", [][]header{{{"configs/b/c", "B"}, {"configs/a", "-> b"}}}, "leads to a directory"},
		{"in a circle", [][]header{{{"configs/a", "-> b"}, {"configs/b", "-> a"}}}, "does not end"},
		{"the directory is a link to nothing", [][]header{{{"configs", "-> /srv"}}}, "does not exist"},
		{"the directory is a link to a file", [][]header{{{"configs", "-> /srv"}, {"srv", "A"}}}, "is not a directory"},
		{"the directory is a link to the root", [][]header{{{"configs", "-> ../.."}, {"srv/a", "A"}}}, "leads to the root directory"},
		{"the directory is a link to itself", [][]header{{{"configs", "-> configs"}}}, "does not end"},
		{"the directory is a file", [][]header{{{"configs", "A"}}}, "is not a directory"},
		{"whiteout without a name", [][]header{{{"configs/.wh.", "A"}}}, "without a name"},
		{"long name", [][]header{{{"configs/" + long, "A"}}}, "has 4104 bytes"},
		{"nothing", [][]header{base}, "no file below /configs"},
		{"all removed", [][]header{configs, {{".wh.configs", ""}}}, "no file below /configs"},
	}
	for _, test := range tests {
		m := newMemory()
		root := m.putImage(t, source{layers: test.layers}.image(t))
		_, got, err := read(t, m, root)
		if err == nil {
			t.Errorf("%s: it was read: %v", test.name, got)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %q without %q", test.name, err, test.want)
		}
	}
}

func TestReadTooLarge(t *testing.T) {
	m := newMemory()
	bomb := strings.Repeat("0", 4<<20)
	for _, form := range []source{{}, {zstd: true}, {plain: true}} {
		form.layers = [][]header{{{"configs/a", bomb}}}
		img, err := Open(t.Context(), m, "", m.putImage(t, form.image(t)))
		fail.On(t, err)
		discard := func(_ string, r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		}
		if _, err := img.survey(t.Context(), discard, 1<<20); !errors.Is(err, layers.ErrTooLarge) {
			t.Errorf("error %v, want %v", err, layers.ErrTooLarge)
		}
		_, err = img.survey(t.Context(), discard, 9<<20)
		fail.On(t, err)
	}
}

func TestReadDiffID(t *testing.T) {
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{base, configs}}.image(t))
	o, err := image.DecodeObject(m.blobs[root.Digest])
	fail.On(t, err)
	var config ocispec.Descriptor
	fail.On(t, o.Field("config", &config))
	wrong := digestOf("another")
	data := bytes.Replace(m.blobs[config.Digest], []byte(digestOf(string(pack(t, base)))), []byte(wrong), 1)
	o, err = o.With("config", m.put(config.MediaType, data))
	fail.On(t, err)
	_, _, err = read(t, m, m.put(root.MediaType, mustEncode(t, o)))
	says(t, err, string(wrong))
}

func mustEncode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	fail.On(t, e.Encode(v))
	return bytes.TrimSpace(b.Bytes())
}

// TestReadOnce checks what is fetched: each layer of the first platform once, and no base layer of
// other platforms.
func TestReadOnce(t *testing.T) {
	armCache := append(slices.Clone(cache), header{"tmp/cache/seed", "arm"})
	tests := []struct {
		name   string
		arm    [][]header
		unread [][]header
		want   []Verdict // of the layers of arm64
	}{
		{"other base", [][]header{baseArm, configs, cache}, [][]header{baseArm}, []Verdict{Unread, CatalogOnly, CatalogOnly}},
		{"other cache", [][]header{baseArm, configs, armCache}, [][]header{baseArm}, []Verdict{Unread, CatalogOnly, CatalogOnly}},
		{"one more layer", [][]header{baseArm, {{"etc/x", "x"}}, configs, armCache}, [][]header{baseArm, {{"etc/x", "x"}}}, []Verdict{Unread, Unread, CatalogOnly, CatalogOnly}},
		{"other order", [][]header{baseArm, armCache, configs, {{"etc/x", "x"}}}, [][]header{baseArm, armCache}, []Verdict{Unread, Unread, CatalogOnly, Other}},
		{"other configs layer", [][]header{baseArm, {configs[3], configs[2]}, armCache}, [][]header{baseArm}, []Verdict{Unread, CatalogOnly, CatalogOnly}},
		{"catalog in the base", [][]header{slices.Concat(baseArm, configs), {{"etc/x", "x"}}, {{"etc/y", "y"}}}, nil, []Verdict{Mixed, Other, Other}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMemory()
			root := m.putIndex(t, index(t,
				source{arch: "arm64", layers: test.arm},
				source{arch: "amd64", layers: [][]header{base, configs, cache}},
			))
			img, _, err := read(t, m, root)
			fail.On(t, err)
			for d, n := range m.reads {
				if n > 1 {
					t.Errorf("%s was read %d times", d, n)
				}
			}
			for _, headers := range test.unread {
				if n := m.reads[digestOf(string(gzipped(t, pack(t, headers))))]; n != 0 {
					t.Errorf("the layer of %q was read", headers[0].name)
				}
			}
			var got []Verdict
			for _, l := range img.Layers() {
				if l.Platform == "linux/arm64" {
					got = append(got, l.Verdict)
				}
			}
			fail.Diff(t, test.want, got)
		})
	}
}

func TestReadDifferentCatalogs(t *testing.T) {
	tests := []struct {
		name string
		arm  [][]header
		want string
	}{
		{"other content", [][]header{baseArm, {{"configs/a/catalog.json", "A"}, {"configs/b/catalog.json", "B2"}}}, "/configs/b/catalog.json"},
		{"a file less", [][]header{baseArm, {{"configs/a/catalog.json", "A"}}}, "/configs/b/catalog.json"},
		{"a file more", [][]header{baseArm, configs, {{"configs/c.json", "C"}}}, "/configs/c.json"},
		{"a link in a file's place", [][]header{baseArm, {{"configs/a/catalog.json", "A"}, {"configs/b/catalog.json", "-> ../a/catalog.json"}}}, "/configs/b/catalog.json"},
		{"removed", [][]header{base, configs, {{"configs/.wh.a", ""}}}, "/configs/a/catalog.json"},
	}
	for _, test := range tests {
		m := newMemory()
		root := m.putIndex(t, index(t,
			source{arch: "amd64", layers: [][]header{base, configs}},
			source{arch: "arm64", layers: test.arm},
		))
		_, _, err := read(t, m, root)
		says(t, err, "different catalogs: "+test.want+" ")
	}
}

// TestReadCatalog reads a catalog with the reader of package catalog, and builds it again without
// filtering.
func TestReadCatalog(t *testing.T) {
	pkg := `{"schema":"olm.package","name":"a","defaultChannel":"stable"}`
	channel := `{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.0.0"}]}`
	bundle := `{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"example.com/a@sha256:` +
		strings.Repeat("0", 64) + `","properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}`
	m := newMemory()
	root := m.putImage(t, source{layers: [][]header{{
		{"configs/x/package.json", pkg}, {"configs/x/README.md", "# not a catalog"}, {"configs/x/rest.json", channel + "\n" + bundle},
	}, {{"configs/.indexignore", "README.md\n"}}}}.image(t))
	img, err := Open(t.Context(), m, "", root)
	fail.On(t, err)
	c, err := img.Read(t.Context(), catalog.Options{})
	fail.On(t, err)
	if len(c.Packages) != 1 || len(c.Packages[0].Bundles) != 1 {
		t.Fatalf("the catalog has %d packages, want one with one bundle", len(c.Packages))
	}
	built, err := Build(t.Context(), m, img, c)
	fail.On(t, err)
	again, err := Open(t.Context(), m, "", built.Root)
	fail.On(t, err)
	d, err := again.Read(t.Context(), catalog.Options{})
	fail.On(t, err)
	for n, pair := range [][2][]byte{
		{c.Packages[0].Metas[0].Raw, d.Packages[0].Metas[0].Raw},
		{c.Packages[0].Channels[0].Meta.Raw, d.Packages[0].Channels[0].Meta.Raw},
		{c.Packages[0].Bundles[0].Meta.Raw, d.Packages[0].Bundles[0].Meta.Raw},
	} {
		if diff := cmp.Diff(string(pair[0]), string(pair[1])); diff != "" {
			t.Errorf("object %d changed (-want +got):\n%s", n, diff)
		}
	}
}

func TestReadCancelled(t *testing.T) {
	m := newMemory()
	img, err := Open(t.Context(), m, "", m.putImage(t, source{layers: [][]header{base, mixed, configs, cache}}.image(t)))
	fail.On(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	_, err = img.survey(ctx, func(string, io.Reader) error {
		cancel(stop)
		return stop
	}, layers.MaxUnpacked)
	fail.Diff(t, stop, err, cmpopts.EquateErrors())
	if _, err := build(ctx, m, img, filtered); !errors.Is(err, context.Canceled) {
		t.Errorf("building after the end: error %v", err)
	}
}

// TestReadSparse reads a file that takes one block in the archive and has a size of 4 GiB of zeros
// (GNU tar's manual, "Old GNU Format").
func TestReadSparse(t *testing.T) {
	layer := pack(t, []header{{"configs/a", ""}})
	block := layer[:512]
	copy(block[257:], "ustar  \x00")
	block[156] = tar.TypeGNUSparse
	clear(block[345:512])
	copy(block[483:], fmt.Sprintf("%011o\x00", 1<<32))
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	left := layers.NewBudget(1 << 20)
	read := int64(0)
	l := &image.Lister{Dir: "configs", Budget: left, File: func(_ string, r io.Reader) error {
		n, err := io.Copy(io.Discard, r)
		read = n
		return err
	}}
	if _, err := l.List(bytes.NewReader(layer)); !errors.Is(err, layers.ErrTooLarge) || read == 0 {
		t.Errorf("error %v after %d bytes, want %v", err, read, layers.ErrTooLarge)
	}
}
