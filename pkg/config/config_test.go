package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// files returns a Site that only has a folder.
func files(t *testing.T) *mirrortest.Site {
	t.Helper()
	return &mirrortest.Site{T: t, Dir: t.TempDir()}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := files(t)
	good := s.Config("good.yaml", "  additionalImages: [{name: 'quay.io/org/name:v1'}]\n")
	bad := s.Config("bad.yaml", "  aditionalImages: []\n  operators:\n  - catalog: quay.io/a/b:v1\n    packages:\n    - name: x\n      minVersion: v1.2\n")
	warned := s.Config("warned.yaml", "  additionalImages: [{name: 'docker://quay.io/org/name:v1'}]\n")
	absent := s.Path("absent.yaml")
	for _, tc := range []struct {
		o       config.CheckOptions
		ok      []bool
		refused string
	}{
		{config.CheckOptions{Files: []string{good, warned}}, []bool{true, true}, ""},
		{config.CheckOptions{Files: []string{good, bad, absent}}, []bool{true, false, false}, "2 of 3 files are invalid"},
		{config.CheckOptions{Files: []string{good}, Strict: true}, []bool{true}, ""},
		{config.CheckOptions{Files: []string{good, warned}, Strict: true}, []bool{true, false}, "1 of 2 files have warnings; gantry config convert corrects most of them"},
		{config.CheckOptions{Files: []string{bad, warned}, Strict: true}, []bool{false, false}, "2 of 2 files are invalid or have warnings"},
	} {
		got, err := config.Check(tc.o)
		if tc.refused != "" {
			mirrortest.Refused(t, err, advice.Input, tc.refused)
		} else if err != nil {
			t.Error(err)
		}
		var ok []bool
		for i, f := range got.Files {
			if ok = append(ok, f.OK); f.File != tc.o.Files[i] {
				t.Errorf("file %d is %s", i, f.File)
			}
		}
		if diff := cmp.Diff(tc.ok, ok); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.o, diff)
		}
	}
	all, _ := config.Check(config.CheckOptions{Files: []string{bad, warned, absent}})
	b, w, a := all.Files[0], all.Files[1], all.Files[2]
	if len(b.Problems) != 1 || b.Problems[0].Line != 4 || !strings.Contains(b.Problems[0].Message, `unknown field "aditionalImages"`) || b.Problems[0].Hint != `did you mean "additionalImages"?` {
		t.Errorf("the problems of a file: %+v", b.Problems)
	}
	if len(b.Warnings) != 1 || b.Warnings[0].Line != 9 || !strings.Contains(b.Warnings[0].Message, `is read as "1.2.0"`) {
		t.Errorf("the warnings of an invalid file: %+v", b.Warnings)
	}
	if len(w.Warnings) != 1 || w.Warnings[0].Line != 4 || len(w.Problems) != 0 {
		t.Errorf("the warnings of a file: %+v, %+v", w.Warnings, w.Problems)
	}
	if len(a.Problems) != 1 || !strings.Contains(a.Problems[0].Message, "reading the configuration") {
		t.Errorf("a file that does not exist: %+v", a.Problems)
	}
}

const clusterVersion = `{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"channel": "stable-4.18"}, "status": {"history": [{"state": "Completed", "version": "4.18.3"}]}}` + "\n"

// operator returns the objects of an operator that a cluster installed from a catalog.
func operator(source, image string) string {
	return `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "` + source + `", "namespace": "openshift-marketplace"}, "spec": {"sourceType": "grpc", "image": "` + image + `"}}
{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"name": "otter", "namespace": "wild"}, "spec": {"name": "otter", "channel": "stable", "source": "` + source + `", "sourceNamespace": "openshift-marketplace"}, "status": {"installedCSV": "otter.v1.0.0"}}
{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "otter.v1.0.0", "namespace": "wild", "labels": {"operators.coreos.com/otter.wild": ""}}, "spec": {"version": "1.0.0"}, "status": {"phase": "Succeeded"}}
`
}

func TestFromCluster(t *testing.T) {
	t.Parallel()
	s := files(t)
	for name, tc := range map[string]struct {
		objects string
		o       config.DraftOptions
		want    string // the selection as text
	}{
		"platform":          {clusterVersion, config.DraftOptions{}, "stable-4.18 4.18.3-"},
		"platform, pinned":  {clusterVersion, config.DraftOptions{Pinned: true}, "stable-4.18 4.18.3-4.18.3"},
		"operators":         {operator("animals", "registry.example.com/zoo/operator-index:v4.20"), config.DraftOptions{}, "registry.example.com/zoo/operator-index:v4.20 otter stable 1.0.0-"},
		"operators, pinned": {operator("animals", "registry.example.com/zoo/operator-index:v4.20"), config.DraftOptions{Pinned: true}, "registry.example.com/zoo/operator-index:v4.20 otter stable 1.0.0-1.0.0"},
		"a named catalog":   {operator("animals", "mirror.example.com/x@sha256:"+strings.Repeat("0", 64)), config.DraftOptions{Catalogs: map[string]string{"animals": "quay.io/zoo/index:v4.19"}}, "quay.io/zoo/index:v4.19 otter stable 1.0.0-"},
	} {
		tc.o.Objects = []string{s.Write("objects.json", tc.objects)}
		d, err := config.FromCluster(tc.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, op := range d.Config.Mirror.Operators {
			for _, p := range op.Packages {
				for _, c := range p.Channels {
					got = append(got, op.Catalog+" "+p.Name+" "+c.Name+" "+c.Range.Min+"-"+c.Range.Max)
				}
			}
		}
		if d.Config.Mirror.Platform != nil {
			for _, c := range d.Config.Mirror.Platform.Channels {
				got = append(got, c.Name+" "+c.Range.Min+"-"+c.Range.Max)
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, diff, d.YAML)
		}
		// The draft can be used as it is.
		if checked, err := config.Check(config.CheckOptions{Files: []string{s.Write("draft.yaml", string(d.YAML))}, Strict: true}); err != nil {
			t.Errorf("%s: %v %+v", name, err, checked)
		}
	}
	for words, objects := range map[string]string{"missing.json": s.Path("missing.json"), "objects.json": s.Write("objects.json", "{")} {
		_, err := config.FromCluster(config.DraftOptions{Objects: []string{objects}})
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestFromMirror makes configurations from a mirror with and without its workspace, and from an archive. The one from a
// plan selects what the original selects.
func TestFromMirror(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	text := s.Operators("lantern")
	s.Mirrored(text, s.Docker("ocp"))
	disk := s.Exported(text, "disk")
	original, err := imageset.Load(text)
	fail.On(t, err)
	draft := func(o config.DraftOptions) (*config.Draft, error) {
		o.Env = s.Env
		if o.Workspace == "" {
			o.Workspace = s.Workspace()
		}
		return config.FromMirror(t.Context(), o)
	}
	for from, workspace := range map[string]string{s.Docker("ocp"): "", disk: "", s.Docker("ocp/"): s.Path("none")} {
		d, err := draft(config.DraftOptions{Mirror: []string{strings.TrimSuffix(from, "/")}, Workspace: workspace})
		fail.On(t, err)
		made, err := imageset.Load(s.Write("made.yaml", string(d.YAML)))
		fail.On(t, err)
		if diff := cmp.Diff(original.Mirror, made.Mirror, cmpopts.IgnoreTypes(imageset.Position{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(imageset.Blocked{}, "Pattern")); diff != "" {
			t.Errorf("from %s: %s", from, diff)
		}
	}
	// The pinned configuration selects what the mirror has: with it, there is nothing to copy.
	pinned, err := draft(config.DraftOptions{Mirror: []string{s.Docker("ocp")}, Pinned: true})
	fail.On(t, err)
	r := s.Mirrored(s.Write("pinned.yaml", string(pinned.YAML)), s.Docker("ocp"), func(o *mirroring.Options) { o.DryRun = true })
	if r.ToCopy == nil || r.ToCopy.Bytes != 0 {
		t.Errorf("the pinned configuration selects other content: %+v\n%s", r.ToCopy, pinned.YAML)
	}

	// Without the workspace and records, the registry is searched.
	s.Mirror.Script(registrytest.Rule{Path: "/gantry-image-sets/", Action: registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN")})
	_, err = draft(config.DraftOptions{Mirror: []string{s.Docker("ocp")}, Workspace: s.Path("none")})
	mirrortest.Refused(t, err, advice.Input, mirrortest.Acme, "Options.Catalogs")
	searched, err := draft(config.DraftOptions{Mirror: []string{s.Docker("ocp")}, Workspace: s.Path("none"), Catalogs: map[string]string{mirrortest.Acme: "registry.example.com/" + mirrortest.Acme + ":v4.20"}})
	fail.On(t, err)
	if got := searched.Config.Mirror.Operators; len(got) != 1 || len(got[0].Packages) == 0 || got[0].Packages[0].Channels[0].Range.Min == "" {
		t.Errorf("searching the mirror found %s", searched.YAML)
	}
	for words, from := range map[string]string{"neither a mirror nor an archive": "mirror.example.com", "absent": s.Archive("absent")} {
		_, err := draft(config.DraftOptions{Mirror: []string{from}})
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestFromArchiveOfAllKinds makes configurations from an archive with releases, files and tags that rules selected.
func TestFromArchiveOfAllKinds(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	for _, tag := range []string{"v1.0.0", "v1.1.0", "v1.2.0"} {
		img, err := registrytest.Index(tag)
		fail.On(t, err)
		p.Push("quay.io/tools/app:"+tag, img)
	}
	file := p.Write("install.sh", "#!/bin/sh\n")
	disk := p.Exported(p.Config("all.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20, from: [4.20.1]}]\n  additionalImages:\n"+
		"  - name: quay.io/tools/app\n    tags: {semver: '>=1', newest: 2}\n    targetRepo: lab/app\n  files: [{path: "+file+"}]\n"), "disk")
	for pinned, want := range map[bool][]string{
		false: {"name: fast-4.20\n", "from:\n", "graph: true\n", "name: quay.io/tools/app\n", "semver: '>=1'", "newest: 2", "targetRepo: lab/app\n", "path: " + file + "\n"},
		true:  {"name: fast-4.20\n", "maxVersion: 4.20.2\n", "name: quay.io/tools/app@sha256:", "targetTag: v1.1.0\n", "targetTag: v1.2.0\n", "path: " + file + "\n"},
	} {
		d, err := config.FromMirror(t.Context(), config.DraftOptions{Env: p.Env, Mirror: []string{disk}, Workspace: p.Path("none"), Pinned: pinned})
		fail.On(t, err)
		for _, word := range want {
			if !strings.Contains(string(d.YAML), word) {
				t.Errorf("pinned %t: no %q in\n%s", pinned, word, d.YAML)
			}
		}
		if checked, err := config.Check(config.CheckOptions{Files: []string{p.Write("draft.yaml", string(d.YAML))}, Strict: true}); err != nil {
			t.Errorf("pinned %t: %v %+v", pinned, err, checked)
		}
	}
}
