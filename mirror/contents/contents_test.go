package contents_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestCatalogObjects lists packages, channels and bundles of catalogs by words.
func TestCatalogObjects(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	config := s.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: vole}]\n  - catalog: "+mirrortest.RiverRef+"\n")
	list := func(kind string, o contents.Options) (found []string) {
		t.Helper()
		o.Env, o.Workspace = s.Env, s.Workspace()
		switch kind {
		case "packages":
			l, err := contents.Packages(t.Context(), o)
			fail.On(t, err)
			for _, p := range l.Packages {
				found = append(found, fmt.Sprintf("%s %s %s %s %d", p.Name, p.Head.Version, p.OLMv1.Bundle, p.OLMv1.Install, len(p.Images)))
			}
		case "channels":
			l, err := contents.Channels(t.Context(), o)
			fail.On(t, err)
			for _, c := range l.Channels {
				found = append(found, fmt.Sprintf("%s/%s %s %v", c.Package, c.Name, c.HeadBundle.Name, c.Versions))
			}
		case "bundles":
			l, err := contents.Bundles(t.Context(), o)
			fail.On(t, err)
			for _, b := range l.Bundles {
				found = append(found, fmt.Sprintf("%s %v %v %q", b.Name, b.Channels, b.HeadOf, b.Deprecated))
			}
		case "catalogs":
			l, err := contents.Catalogs(t.Context(), o)
			fail.On(t, err)
			for _, c := range l.Catalogs {
				found = append(found, fmt.Sprintf("%s %d %d", c.Name, c.Packages, c.Bundles))
			}
		}
		return found
	}
	zoo := []string{s.Path("zoo")}
	otter, vole := "otter 1.3.0 otter.v1.4.0 probably 13", "vole 1.0.0 vole.v1.0.0 probably 1"
	for _, test := range []struct {
		kind string
		o    contents.Options
		want []string
	}{
		{"packages", contents.Options{Catalog: zoo, Words: []string{"OTT"}}, []string{otter}},
		{"packages", contents.Options{Catalog: append(zoo, zoo...), Words: []string{"*ter", "vol"}}, []string{otter, vole}},
		{"packages", contents.Options{Catalog: zoo, Words: []string{"?ole"}}, []string{vole}},
		{"packages", contents.Options{Catalog: zoo, Words: []string{"vole*x"}}, nil},
		{"packages", contents.Options{Config: config, APIs: []string{"fish*"}}, []string{"pike 1.0.0 pike.v1.0.0 probably 1", "trout 0.2.0 trout.v0.2.0 no 3"}},
		{"packages", contents.Options{Config: config, APIs: []string{"fis"}}, nil},
		{"packages", contents.Options{Config: config, APIs: []string{"Fish.*"}, Words: []string{"pike"}}, []string{"pike 1.0.0 pike.v1.0.0 probably 1"}},
		{"channels", contents.Options{Catalog: zoo, Words: []string{"candidate"}}, []string{"otter/candidate otter.v1.4.0 [1.4.0 1.3.0]"}},
		{"bundles", contents.Options{Catalog: zoo, Package: "otter", Words: []string{"1.0.0", "*1.3*"}}, []string{"otter.v1.3.0 [candidate stable] [stable] \"\"", "otter.v1.0.0 [stable] [] \"1.0 is not maintained\""}},
		{"bundles", contents.Options{Catalog: zoo, Package: "ott"}, nil},
		{"catalogs", contents.Options{Config: config, Words: []string{"zoo"}}, []string{mirrortest.ZooRef + " 4 9"}},
	} {
		if got := list(test.kind, test.o); !slices.Equal(got, test.want) {
			t.Errorf("%s %+v:\n%s\nwant\n%s", test.kind, test.o, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
	list("packages", contents.Options{Catalog: zoo, Words: []string{"oter*"}})
	list("bundles", contents.Options{Catalog: zoo, Package: "vol"})
	list("packages", contents.Options{Catalog: zoo, Words: []string{"nothing", "like"}})
	list("packages", contents.Options{Catalog: []string{mirrortest.ZooRef}, Words: []string{"heorn*"}})
	list("packages", contents.Options{Catalog: []string{mirrortest.ZooRef}, Package: "otter", Words: []string{"9.9.9"}})
	list("catalogs", contents.Options{Catalog: []string{mirrortest.ZooRef}, Words: []string{"operator?"}})
	for _, kind := range []string{"packages", "channels", "bundles"} {
		list(kind, contents.Options{Catalog: []string{mirrortest.ZooRef}, APIs: []string{"Nothing"}})
	}
	said := strings.Join(s.Said(), "\n")
	if !strings.Contains(said, "no packages match otter 9.9.9") || strings.Contains(said, `mean "operator"`) || !strings.Contains(said, "no packages match Nothing\nno channels match Nothing\nno bundles match Nothing") {
		t.Errorf("noted %s", said)
	}
	if !strings.Contains(said, `no packages match "oter*"; did you mean "otter"?`) || !strings.Contains(said, `no bundles match "vol"; did you mean "vole"?`) ||
		!strings.Contains(said, "no packages match nothing like") || !strings.Contains(said, `did you mean "heron"?`) {
		t.Errorf("noted %s", said)
	}
}

// TestRefused checks the errors for places that are missing or of the wrong kind.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	empty := s.Config("empty.yaml", "  additionalImages: [{name: registry.example.com/zoo/otter:v1.0.0}]\n")
	for words, o := range map[string]contents.Options{
		"nothing to list packages of":        {},
		"empty.yaml names no catalog":        {Config: empty},
		"Options.Sizes is for catalogs":      {Sizes: true, Mirrors: []string{s.Docker("x")}},
		"Options.Sequence is for an archive": {Sequence: 1, Catalog: []string{s.Path("zoo")}},
		"no record of an image set":          {Mirrors: []string{s.Docker("x")}},
		"is not a mirror registry":           {Catalog: []string{s.Path("zoo")}, At: "file:///disk"},
	} {
		o.Env, o.Workspace = s.NewEnv(), s.Workspace()
		_, err := contents.Packages(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
	for words, o := range map[string]contents.Options{"a catalog has no files": {Config: empty}, "nothing to list files of": {}} {
		o.Env = s.NewEnv()
		_, err := contents.Files(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestPlaces compares what a mirror and a disk have with the catalog that they are from.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	config := s.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: otter, channels: [{name: stable, minVersion: 1.2.0}]}]\n")
	mirror, disk := s.Docker("zoo"), s.Archive("disk")
	s.Mirrored(config, mirror)
	s.Exported(config, "disk")
	_, planned := s.PlanFile(config, "plan.json")
	of := func(o contents.Options) contents.Options {
		o.Env, o.Workspace = s.NewEnv(), s.Workspace()
		return o
	}
	source, err := contents.Bundles(t.Context(), of(contents.Options{Catalog: []string{mirrortest.ZooRef}, Package: "otter", At: mirror, Sizes: true}))
	fail.On(t, err)
	sizes := map[string]int64{}
	for _, b := range source.Bundles {
		want := contents.Absent
		if slices.Contains([]string{"1.2.0", "1.3.0"}, b.Version) {
			want = contents.Present
		}
		if sizes[b.Name] = b.Size; b.At != want || b.Size == 0 || b.Here != "" || b.Volumes != nil || b.OLMv1.Install != "yes" {
			t.Errorf("of the catalog, %s is %+v, want at %s", b.Name, b.Stored, want)
		}
	}
	all, err := contents.Bundles(t.Context(), of(contents.Options{Mirrors: []string{mirror}, Archives: []string{disk}, At: mirror}))
	fail.On(t, err)
	if len(all.Bundles) != 4 {
		t.Errorf("mirror and disk have %+v", all.Bundles)
	}
	for _, b := range all.Bundles {
		onDisk := b.Place == disk
		if b.Size != sizes[b.Name] || b.At != contents.Present || (b.Here == airgap.Available) != onDisk || (len(b.Volumes) > 0) != onDisk || b.OLMv1.Install != "yes" {
			t.Errorf("%s in %s is %+v", b.Name, b.Place, b)
		}
	}
	catalogs, err := contents.Catalogs(t.Context(), of(contents.Options{Archives: []string{disk}}))
	fail.On(t, err)
	if c := catalogs.Catalogs; len(c) != 1 || c[0].Size != planned.Totals.Bytes || c[0].Packages != 1 || c[0].Images != 5 || c[0].Digest != planned.Catalogs[0].Digest {
		t.Errorf("the catalogs are %+v", c)
	}
	images, err := contents.Images(t.Context(), of(contents.Options{Mirrors: []string{mirror}, Words: []string{"*otter-bundle*"}, At: mirror}))
	fail.On(t, err)
	if len(images.Images) != 2 || images.Images[0].Kind != plan.BundleImage || images.Images[0].At != contents.Present || !strings.Contains(images.Images[0].Names[0], s.Mirror.Host+"/zoo/") {
		t.Errorf("the images are %+v", images.Images)
	}
	images, err = contents.Images(t.Context(), of(contents.Options{Catalog: []string{mirrortest.ZooRef}, Package: "vole", At: mirror}))
	fail.On(t, err)
	if len(images.Images) != 1 || images.Images[0].At != contents.Absent || images.Images[0].Bundles[0] != "vole.v1.0.0" {
		t.Errorf("the images are %+v", images.Images)
	}
}

// TestUnknownSizes checks that an image that its registry does not have leaves out the size of its bundle alone, and that a
// registry that cannot be reached is asked once.
func TestUnknownSizes(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	bundle := func(name, image string) string {
		return `{"schema":"olm.package","name":"` + name + `","defaultChannel":"stable"}{"schema":"olm.channel","package":"` + name + `","name":"stable","entries":[{"name":"` + name + `.v1.0.0"}]}` +
			`{"schema":"olm.bundle","package":"` + name + `","name":"` + name + `.v1.0.0","image":"` + image + `","properties":[{"type":"olm.package","value":{"packageName":"` + name + `","version":"1.0.0"}}]}`
	}
	fail.On(t, os.MkdirAll(s.Path("made"), 0o750))
	s.Write("made/catalog.json", bundle("a", "registry.example.com/zoo/absent:v1")+bundle("b", "registry.example.com/zoo/otter:v1.3.0")+
		bundle("c", "127.0.0.1:1/c:v1")+bundle("d", "127.0.0.1:1/d:v1"))
	e := s.NewEnv()
	e.RetryTimes = -1
	l, err := contents.Bundles(t.Context(), contents.Options{Env: e, Workspace: s.Workspace(), Catalog: []string{s.Path("made")}, Sizes: true})
	fail.On(t, err)
	for _, b := range l.Bundles {
		if (b.Size > 0) != (b.Package == "b") || b.OLMv1.Install != "unknown" {
			t.Errorf("%+v", b)
		}
	}
	said := strings.Join(s.Said(), "\n")
	for word, n := range map[string]int{"the size of a.v1.0.0 is unknown": 1, "the size of c.v1.0.0 is unknown": 1, "the size of": 2} {
		if strings.Count(said, word) != n {
			t.Errorf("%q is not %d times in %s", word, n, said)
		}
	}
}

// TestLostCatalog checks the error for a catalog that a mirror lost, and for a record that it lost.
func TestLostCatalog(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	config := s.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: vole}]\n")
	mirror := s.Docker("zoo")
	s.Mirrored(config, mirror)
	_, p := s.PlanFile(config, "plan.json")
	s.Delete("zoo/" + p.Catalogs[0].Repository + "/manifests/" + p.Catalogs[0].Digest.String())
	list := func() error {
		_, err := contents.Packages(t.Context(), contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Mirrors: []string{mirror}})
		return err
	}
	if err := list(); err == nil || !strings.Contains(advice.Hint(err), "gantry verify "+mirror) {
		t.Errorf("%v, %q", err, advice.Hint(err))
	}
	images, err := contents.Images(t.Context(), contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Mirrors: []string{mirror}, Words: []string{"*/vole-bundle@*"}})
	if err != nil || len(images.Images) != 1 {
		t.Errorf("the plan has %+v, %v", images, err)
	}
}
