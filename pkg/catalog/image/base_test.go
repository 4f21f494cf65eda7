package image

import (
	"errors"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestOpenBase(t *testing.T) {
	none := map[string]string{"vendor": "x"}
	for _, tc := range []struct {
		name    string
		sources []source
		argv    [][]string // by platform
		dir     string
	}{
		{"opm alone", []source{{arch: "amd64", entrypoint: []string{"/bin/opm"}, labels: none, layers: [][]header{base}}}, [][]string{{"/bin/opm", "serve", "/configs"}}, "configs"},
		{"two platforms", []source{
			{arch: "amd64", entrypoint: []string{"/bin/opm"}, labels: none, layers: [][]header{base}},
			{arch: "s390x", cmd: []string{"/bin/opm", "version"}, labels: none, layers: [][]header{baseArm}},
		}, [][]string{{"/bin/opm", "serve", "/configs"}, {"/bin/opm", "serve", "/configs"}}, "configs"},
		{"another program", []source{{arch: "amd64", entrypoint: []string{"/bin/sh"}, labels: none, layers: [][]header{base}}}, [][]string{{"/bin/sh"}}, "configs"},
		{"a catalog", []source{{arch: "amd64", entrypoint: []string{"/bin/opm"}, cmd: []string{"serve", "/data", "--cache-dir=/tmp/cache"}, label: "/data", layers: [][]header{base}}},
			[][]string{{"/bin/opm", "serve", "/data"}}, "data"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory()
			root := m.putIndex(t, index(t, tc.sources...))
			img, err := OpenBase(t.Context(), m, "", root)
			fail.On(t, err)
			built, err := build(t.Context(), m, img, filtered)
			fail.On(t, err)
			for n, after := range images(t, m, built.Root) {
				config, err := after.ConfigFile()
				fail.On(t, err)
				fail.Diff(t, tc.argv[n], append(config.Config.Entrypoint, config.Config.Cmd...))
				_, catalogd := unpacked(t, after, tc.dir)
				fail.Diff(t, filteredFiles(), catalogd.files(tc.dir))
			}
			again, err := Open(t.Context(), m, "", built.Root)
			fail.On(t, err)
			if again.Kind() != FileBased || again.Directory() != "/"+tc.dir {
				t.Errorf("it is opened as %v in %s", again.Kind(), again.Directory())
			}
		})
	}
}

func TestOpenBaseThatIsNone(t *testing.T) {
	m := newMemory()
	if _, err := OpenBase(t.Context(), m, "", m.put("text/plain", []byte("{}"))); !errors.Is(err, ErrNoCatalog) {
		t.Errorf("error %v", err)
	}
}
