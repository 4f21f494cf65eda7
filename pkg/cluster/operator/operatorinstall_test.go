package operator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// builds writes a catalog with two bundles of package otter that differ in build metadata alone, and returns
// its folder. Only one is in channel alone.
func builds(t *testing.T) string {
	t.Helper()
	text := `{"schema":"olm.package","name":"otter","defaultChannel":"stable"}
{"schema":"olm.channel","package":"otter","name":"stable","entries":[{"name":"otter.v1-1"},{"name":"otter.v1-2","replaces":"otter.v1-1"}]}
{"schema":"olm.channel","package":"otter","name":"alone","entries":[{"name":"otter.v1-1"}]}
`
	for _, build := range []string{"1", "2"} {
		csv := `{"kind":"ClusterServiceVersion","metadata":{"name":"otter.v1-` + build + `"},"spec":{"installModes":[{"type":"AllNamespaces","supported":true}],"install":{"strategy":"deployment"}}}`
		object, err := json.Marshal(map[string][]byte{"data": []byte(csv)})
		fail.On(t, err)
		text += `{"schema":"olm.bundle","package":"otter","name":"otter.v1-` + build + `","image":"registry.invalid/otter:v` + build + `","properties":[` +
			`{"type":"olm.package","value":{"packageName":"otter","version":"1.0.0+` + build + `"}},{"type":"olm.bundle.object","value":` + string(object) + "}]}\n"
	}
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "catalog.json"), []byte(text), 0o600))
	return dir
}

// TestPinned checks that a version that OLM v1 takes for another one is refused.
func TestPinned(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, version, channel, olm string
		want                        string // in the error; "" is no error
	}{
		{"lower build", "1.0.0+1", "", OLMV1, "OLM v1 would install bundle otter.v1-2 instead of otter.v1-1"},
		{"higher build", "1.0.0+2", "", OLMV1, ""},
		{"lower build, alone in its channel", "1.0.0+1", "alone", OLMV1, ""},
		{"lower build, classic", "1.0.0+1", "", OLMClassic, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := InstallOptions{Workspace: t.TempDir(), Catalog: builds(t), Package: "otter", Version: tc.version, Channel: tc.channel, OLM: tc.olm}
			i, err := NewInstall(t.Context(), o)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || advice.KindOf(err) != advice.Input {
					t.Errorf("got error %v, want %q", err, tc.want)
				}
				return
			}
			fail.On(t, err)
			if i.BundleVersion != tc.version {
				t.Errorf("it installs %s", i.BundleVersion)
			}
			// The workspace has no name for the catalog.
			if !slices.ContainsFunc(i.Notes, func(n string) bool { return strings.Contains(n, "has no name for catalog") }) {
				t.Errorf("no note is about the name of the catalog: %q", i.Notes)
			}
		})
	}
}

func TestSequenceIsForArchives(t *testing.T) {
	t.Parallel()
	for _, o := range []InstallOptions{{Catalog: builds(t)}, {From: []string{"docker://registry.invalid/m"}}} {
		o.Workspace, o.Package, o.Sequence = t.TempDir(), "otter", 77
		if _, err := NewInstall(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options.Sequence is for an archive") {
			t.Errorf("from %q: got error %v", o.From, err)
		}
	}
}

// TestWriteFilesRefusesOthers checks that a folder never has objects of two versions or operators.
func TestWriteFilesRefusesOthers(t *testing.T) {
	t.Parallel()
	i, err := NewInstall(t.Context(), InstallOptions{Workspace: t.TempDir(), Catalog: builds(t), Package: "otter"})
	fail.On(t, err)
	dir := t.TempDir()
	put := func(name string) {
		fail.On(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	put("notes.yaml")
	for range 2 { // also again
		if names, err := i.WriteFiles(dir); err != nil || len(names) != len(i.Objects) {
			t.Fatalf("wrote %q, %v", names, err)
		}
	}
	put("04-role-otter-old.yaml")
	if _, err := i.WriteFiles(dir); err == nil || !strings.Contains(err.Error(), "04-role-otter-old.yaml") || strings.Contains(err.Error(), "notes.yaml") || advice.KindOf(err) != advice.Input {
		t.Errorf("with a file of another run: got error %v", err)
	}
}
