package image

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestScratch(t *testing.T) {
	m := newMemory()
	built, err := scratch(t.Context(), m, filtered)
	fail.On(t, err)
	if !built.BinaryLess || built.Directory != "/configs" || len(built.Source) != 0 {
		t.Errorf("built %+v", built)
	}
	// One layer, a config and a manifest for each of four platforms, the index.
	fail.Diff(t, 10, len(built.New))
	var platforms []string
	for _, img := range images(t, m, built.Root) {
		config, err := img.ConfigFile()
		fail.On(t, err)
		platforms = append(platforms, config.OS+"/"+config.Architecture)
		fail.Diff(t, map[string]string{ConfigsLabel: "/configs"}, config.Config.Labels)
		runtime, catalogd := unpacked(t, img, "configs")
		for _, fs := range []tree{runtime, catalogd} {
			fail.Diff(t, filteredFiles(), fs.files("configs"))
		}
	}
	fail.Diff(t, []string{"linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"}, platforms)
	again, err := scratch(t.Context(), newMemory(), filtered)
	fail.On(t, err)
	fail.Diff(t, built, again)
	_, files, err := read(t, m, built.Root)
	fail.On(t, err)
	fail.Diff(t, filteredFiles(), files)
}

// TestLayerHeaders checks the bytes that differ between tar writers: order, owner, time, modes,
// format.
func TestLayerHeaders(t *testing.T) {
	m := newMemory()
	root := m.putImage(t, source{label: "/srv/index", entrypoint: []string{"opm"}, layers: [][]header{
		{{"srv/", ""}, {"srv/index/a", "A"}, {"tmp/cache/x", "x"}, {"bin/opm", "program"}},
	}}.image(t))
	img, _, err := read(t, m, root)
	fail.On(t, err)
	built, err := build(t.Context(), m, img, filtered)
	fail.On(t, err)
	data := m.blobs[built.New[0].Digest]
	if head := data[:10]; !bytes.Equal(head[:8], []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}) {
		t.Errorf("gzip header % x has a name or a time", head)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	fail.On(t, err)
	type line struct {
		Name     string
		Mode     int64
		Size     int64
		UID, GID int
		Unix     int64
		Format   tar.Format
	}
	var got []line
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		fail.On(t, err)
		got = append(got, line{h.Name, h.Mode, h.Size, h.Uid, h.Gid, h.ModTime.Unix(), h.Format})
	}
	var want []line
	for _, w := range []line{
		{Name: "srv/", Mode: 0o755},
		{Name: "srv/index/", Mode: 0o755},
		{Name: "srv/index/.wh..wh..opq", Mode: 0o644},
		{Name: "srv/index/a/", Mode: 0o755},
		{Name: "srv/index/a/catalog.json", Mode: 0o644, Size: 2},
		{Name: "srv/index/z/", Mode: 0o755},
		{Name: "srv/index/z/catalog.json", Mode: 0o644, Size: 1},
		{Name: "tmp/", Mode: 0o1777},
		{Name: "tmp/cache/", Mode: 0o755},
		{Name: "tmp/cache/.wh..wh..opq", Mode: 0o644},
	} {
		w.Format = tar.FormatUSTAR
		want = append(want, w)
	}
	fail.Diff(t, want, got)
}
