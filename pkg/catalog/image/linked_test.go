package image

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// linked is an image whose labeled directory is a symbolic link, with old files in a layer that
// stays.
func linked(arch string) source {
	return source{arch: arch, entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{
		append([]header{{"srv/old/a.json", "A"}, {"srv/old/gone.json", "G"}}, base...),
		{{"configs", "-> srv/new"}},
		{{"srv/new", "-> old"}},
		{{"srv/old/b.json", "B"}},
		cache,
	}}
}

// TestBuildLinked rebuilds an image whose labeled directory is a link: both readers see the new
// catalog in the directory that the link leads to, which the label then names. That holds for an image
// with the facts of another one, too.
func TestBuildLinked(t *testing.T) {
	m := newMemory()
	root := m.putIndex(t, index(t, linked("amd64"), linked("arm64")))
	img, files, err := read(t, m, root)
	fail.On(t, err)
	fail.Diff(t, map[string]string{"a.json": "A", "gone.json": "G", "b.json": "B"}, files)
	fail.Diff(t, "/srv/old", img.Directory())
	built, err := build(t.Context(), m, img, filtered)
	fail.On(t, err)
	if len(built.Warnings) > 0 || built.Directory != "/srv/old" {
		t.Errorf("in %s, warnings %q", built.Directory, built.Warnings)
	}
	for _, after := range images(t, m, built.Root) {
		runtime, catalogd := unpacked(t, after, "srv/old")
		for _, got := range []tree{runtime, catalogd} {
			fail.Diff(t, filteredFiles(), got.files("srv/old"))
		}
		if runtime["configs"] != "-> srv/new" || runtime["srv/new"] != "-> old" {
			t.Errorf("the command serves /configs, which is %q", runtime["configs"])
		}
		config, err := after.ConfigFile()
		fail.On(t, err)
		fail.Diff(t, "/srv/old", config.Config.Labels[ConfigsLabel])
		fail.Diff(t, []string{"serve", "/configs"}, config.Config.Cmd)
	}

	facts, err := img.Facts()
	fail.On(t, err)
	again, err := Open(t.Context(), m, "", root)
	fail.On(t, err)
	if again.Restore([]byte(strings.Replace(string(facts), `"dir":"srv/old"`, `"dir":"../old"`, 1))) == nil {
		t.Error("facts with another directory were restored")
	}
	fail.On(t, again.Restore(facts))
	restored, err := build(t.Context(), m, again, filtered)
	fail.On(t, err)
	fail.Diff(t, built, restored)
}

// Stream follows the same links as Read.
func TestStreamLinked(t *testing.T) {
	m := newMemory()
	img, err := Open(t.Context(), m, "", m.putImage(t, source{layers: [][]header{
		{{"srv/p.json", `{"schema":"olm.package","name":"p"}`}, {"etc/q.json", `{"schema":"olm.package","name":"q"}`}, {"srv/q.json", "=> etc/q.json"}},
		{{"configs", "-> srv"}},
	}}.image(t)))
	fail.On(t, err)
	var names []string
	fail.On(t, img.Stream(t.Context(), func(o *catalog.Meta) error {
		names = append(names, o.Name)
		return nil
	}))
	fail.Diff(t, []string{"p", "q"}, names)
}

// Links must lead to the same content on all platforms.
func TestLinkedDiffers(t *testing.T) {
	for name, tc := range map[string]struct{ amd64, arm64 [][]header }{
		"the directory": {
			[][]header{{{"x/a", "A"}, {"y/a", "A"}}, {{"configs", "-> x"}}},
			[][]header{{{"x/a", "A"}, {"y/a", "A"}}, {{"configs", "-> y"}}},
		},
		"a symlink": {
			[][]header{{{"srv/a", "A"}}, {{"configs/a", "-> ../srv/a"}}},
			[][]header{{{"srv/a", "B"}}, {{"configs/a", "-> ../srv/a"}}},
		},
		"a hard link": {
			[][]header{{{"srv/a", "A"}, {"configs/a", "=> srv/a"}}},
			[][]header{{{"srv/a", "B"}, {"configs/a", "=> srv/a"}}},
		},
	} {
		m := newMemory()
		_, _, err := read(t, m, m.putIndex(t, index(t, source{arch: "amd64", layers: tc.amd64}, source{arch: "arm64", layers: tc.arm64})))
		says(t, err, "the platforms have different catalogs")
		_, _, err = read(t, m, m.putIndex(t, index(t, source{arch: "amd64", layers: tc.amd64}, source{arch: "arm64", layers: tc.amd64})))
		if err != nil {
			t.Errorf("%s, the same: %v", name, err)
		}
	}
}
