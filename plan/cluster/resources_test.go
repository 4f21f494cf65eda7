package cluster_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/planning"
)

const mirrorSet = "cluster-resources/itms-generic-0.yaml"

// A mirrored Site has an image in the mirror at /ocp.
type mirrored struct {
	*mirrortest.Site
	config string
}

func newMirrored(t *testing.T, change ...func(*mirroring.Options)) *mirrored {
	t.Helper()
	s := mirrortest.New(t, registrytest.Options{})
	m := &mirrored{s, s.Images("images.example.net/tools/netcheck:1.4")}
	s.Mirrored(m.config, s.Docker("ocp"), change...)
	s.Mirror.ResetLog()
	return m
}

// again writes the cluster resources of the workspace again.
func (m *mirrored) again(change func(*cluster.ResourcesOptions)) *cluster.ResourceFiles {
	m.T.Helper()
	o := cluster.ResourcesOptions{Env: m.Env, Workspace: m.Workspace()}
	if change != nil {
		change(&o)
	}
	r, err := mirroring.Resources(m.T.Context(), o)
	if err != nil {
		m.T.Fatal(env.ErrorText(err))
	}
	return r
}

func target(text string) func(*cluster.ResourcesOptions) {
	return func(o *cluster.ResourcesOptions) { o.For = text }
}

// text reads a file of the folder. It is "" if the file does not exist.
func (m *mirrored) text(name string) string {
	m.T.Helper()
	text, err := os.ReadFile(m.Path(name))
	if err != nil && !os.IsNotExist(err) {
		m.T.Fatal(err)
	}
	return string(text)
}

// written reads all files of the workspace that configure something.
func (m *mirrored) written() map[string]string {
	m.T.Helper()
	files := map[string]string{}
	for _, folder := range []string{"cluster-resources", "install", "hosts"} {
		err := filepath.WalkDir(filepath.Join(m.Workspace(), folder), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				var text []byte
				text, err = os.ReadFile(path)
				files[strings.TrimPrefix(path, m.Workspace()+"/")] = string(text)
			}
			return err
		})
		if err != nil {
			m.T.Fatal(err)
		}
	}
	return files
}

// objects returns what a run says about objects in clusters.
func objects(r *cluster.ResourceFiles) (removed, unapplied []string) {
	if r.Objects == nil {
		return nil, nil
	}
	removed = elements.Map(r.Objects.Removed, func(o resources.ObjectName) string { return o.Kind + " " + o.Name })
	unapplied = elements.Map(r.Objects.NotApplied, func(o resources.ObjectName) string { return o.Kind + " " + o.Name })
	return removed, unapplied
}

// TestResourcesAgain checks that cluster resources are written again without a request: the same ones, those for other
// clusters, and those for another name of the mirror.
func TestResourcesAgain(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, func(o *mirroring.Options) { o.MirrorSourcePolicy = "AllowContactingSource" })
	const at, host = "workspace/" + mirrorSet, "dmz.example.com:8443/a/b"
	first := m.text(at)
	fail.On(t, os.RemoveAll(m.Path("workspace/cluster-resources")))
	m.again(nil)
	if diff := cmp.Diff(first, m.text(at)); diff != "" || first == "" {
		t.Errorf("again: %s", diff)
	}
	moved := strings.ReplaceAll(first, m.Mirror.Host+"/ocp", host)
	other := m.again(func(o *cluster.ResourcesOptions) { o.MirrorHost = host })
	if text, err := os.ReadFile(filepath.Join(other.Dir, "itms-generic-0.yaml")); err != nil || string(text) != moved {
		t.Errorf("for another host: %v\n%s", err, cmp.Diff(moved, string(text)))
	}
	fail.Diff(t, first, m.text(at))
	// ICSPs replace mirror sets, and the workspace keeps the clusters they are for.
	if removed, _ := objects(m.again(target("openshift-4.12"))); !slices.Contains(removed, "ImageTagMirrorSet itms-generic-0") {
		t.Errorf("removed: %q", removed)
	}
	m.Mirrored(m.config, m.Docker("ocp"), func(o *mirroring.Options) { o.ResourcesOnly = true })
	if text := m.text(at); text != "" {
		t.Errorf("the next run forgets the version:\n%s", text)
	}
	if n := len(m.Mirror.Log()); n > 0 {
		t.Errorf("the mirror got %d requests", n)
	}

	disk := m.Exported(m.config, "disk", func(o *mirroring.Options) { o.Workspace = m.Path("connected") })
	site := func(change func(*cluster.ResourcesOptions)) string {
		m.again(func(o *cluster.ResourcesOptions) {
			o.Workspace, o.From, o.MirrorHost = m.Path("site"), []string{disk}, host
			change(o)
		})
		return m.text("site/" + mirrorSet)
	}
	yes := true
	for _, step := range []struct {
		name   string
		change func(*cluster.ResourcesOptions)
		want   string
	}{
		{"from the archive", func(o *cluster.ResourcesOptions) { o.MirrorSourcePolicy = "AllowContactingSource" }, moved},
		{"as in the last run", target("openshift-4.20"), moved},
		{"ICSPs", func(o *cluster.ResourcesOptions) { o.ICSP = &yes }, ""},
		{"ICSPs as in the last run", func(*cluster.ResourcesOptions) {}, ""},
	} {
		if diff := cmp.Diff(step.want, site(step.change)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

// TestResourcesKeepOptions checks that only what options say changes: all files of all folders stay, also those that say
// how the mirror is reached.
func TestResourcesKeepOptions(t *testing.T) {
	t.Parallel()
	ca, err := os.ReadFile(registrytest.New(t, registrytest.Options{TLS: true}).CAFile)
	fail.On(t, err)
	certs, line := t.TempDir(), strings.Split(string(ca), "\n")[2]
	fail.On(t, os.WriteFile(filepath.Join(certs, "ca.crt"), ca, 0o600))
	m := newMirrored(t, func(o *mirroring.Options) {
		o.Env.Destination.PlainHTTP, o.Env.Destination.CertDir = true, certs
		o.MirrorSourcePolicy = "NeverContactSource"
	})
	reached := func(dir string) func(*cluster.ResourcesOptions) {
		return func(o *cluster.ResourcesOptions) {
			o.Env = m.NewEnv()
			o.Env.Destination.CertDir = dir
		}
	}
	m.Env = m.NewEnv()
	first := m.written()
	all := func(files map[string]string) string { return strings.Join(slices.Sorted(maps.Values(files)), "") }
	if text := all(first); !strings.Contains(text, "http://"+m.Mirror.Host) || !strings.Contains(text, line) {
		t.Fatal("the files name neither plain HTTP nor the CA")
	}
	yes, no := true, false
	for name, change := range map[string]func(*cluster.ResourcesOptions){
		"image policies": func(o *cluster.ResourcesOptions) { o.ImagePolicies = "v1" },
		"clusters":       target("openshift-4.20"),
		"mirror sets again": func(o *cluster.ResourcesOptions) {
			m.again(func(o *cluster.ResourcesOptions) { o.ICSP = &yes })
			if m.text("workspace/"+mirrorSet) != "" {
				t.Error("mirror sets beside policies")
			}
			o.ICSP, o.MirrorSourcePolicy = &no, "NeverContactSource"
		},
	} {
		m.again(change)
		if diff := cmp.Diff(first[mirrorSet], m.text("workspace/"+mirrorSet)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	ofMirror := func(files map[string]string) map[string]string { // others depend on the version of the clusters
		rest := maps.Clone(files)
		maps.DeleteFunc(rest, func(name, _ string) bool {
			return strings.HasPrefix(name, "cluster-resources/components/") || name == "cluster-resources/Kustomization"
		})
		return rest
	}
	m.again(nil)
	fail.Diff(t, ofMirror(first), ofMirror(m.written()))

	// The component trusted-ca has the CA, unless the user put another one there.
	const caFile = "workspace/cluster-resources/components/trusted-ca/ca.crt"
	for range 2 {
		if m.again(target("openshift-4.20,trusted-ca")); !strings.Contains(m.text(caFile), line) {
			t.Errorf("the CA is %q", m.text(caFile))
		}
	}
	m.again(reached(t.TempDir()))
	if m.text(caFile) != "" || strings.Contains(m.text("workspace/cluster-resources/Kustomization"), "\n- components/trusted-ca") {
		t.Errorf("without a CA, it is applied: %q", m.text(caFile))
	}
	m.Write(caFile, "of the user\n")
	m.again(reached(certs))
	if got := m.text(caFile); got != "of the user\n" {
		t.Errorf("the user's CA is now %q", got)
	}
	fail.On(t, os.Remove(m.Path(caFile)))
	m.again(reached(t.TempDir()))
	if text := all(m.written()); strings.Contains(text, "http://"+m.Mirror.Host) || strings.Contains(text, line) {
		t.Error("the option does not replace how the mirror is reached")
	}
}

// TestResourcesForOtherClusters checks that objects which an earlier target applied are mentioned once, when they are no
// longer applied and when they are no longer written.
func TestResourcesForOtherClusters(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, func(o *mirroring.Options) { o.For = "openshift-4.20" })
	gone := []string{"ImageTagMirrorSet itms-generic-0"}
	for _, step := range []struct {
		target             string
		removed, unapplied []string
	}{{"kubernetes", nil, gone}, {"", nil, nil}, {"openshift-4.12", gone, nil}, {"", nil, nil}} {
		removed, unapplied := objects(m.again(target(step.target)))
		if diff := cmp.Diff([][]string{step.removed, step.unapplied}, [][]string{removed, unapplied}); diff != "" {
			t.Errorf("for %q (-want +got):\n%s", step.target, diff)
		}
	}
}

func TestResourcesRefused(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	m.Mirrored(m.config, m.Docker("b"))
	host, yes, no := m.Mirror.Host, true, false
	a := m.Docker("ocp")
	for want, o := range map[string]cluster.ResourcesOptions{
		"there is no workspace":                    {Workspace: m.Path("none")},
		"the workspace has several mirrors":        {},
		"knows nothing of":                         {Mirror: m.Docker("c")},
		"is not a mirror registry":                 {Mirror: "file://x"},
		"name that mirror, docker://":              {Mirror: a, MirrorHost: host + "/b"},
		"name one":                                 {From: []string{"file://x"}, Mirror: a, MirrorHost: host + "/b"},
		"have only ImageContentSourcePolicies":     {Mirror: a, For: "openshift-4.12", ICSP: &no},
		"an archive does not name the mirror":      {From: []string{"file://x"}},
		"neither openshift-VERSION nor kubernetes": {Mirror: a, For: "openshft-4.20"},
		"cannot be combined with":                  {ICSP: &yes, MirrorSourcePolicy: "NeverContactSource"},
	} {
		o.Env = m.Env
		if o.Workspace == "" {
			o.Workspace = m.Workspace()
		}
		_, err := mirroring.Resources(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, want)
	}
	m.again(func(o *cluster.ResourcesOptions) { o.Mirror = a })
}

// TestObjectNames checks that objects of one mirror never replace those of another one silently.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	folder := "workspace/cluster-resources-" + strings.ReplaceAll(m.Mirror.Host, ":", "-") + "-b/itms-generic-"
	plan := m.PlanOptions(m.config)
	plan.Destination = m.Docker("b")
	preview, err := planning.Make(t.Context(), plan)
	if err != nil || !slices.Contains(preview.Resources.Files, "itms-generic-imageset-0.yaml") || m.text(folder+"imageset-0.yaml") != "" {
		t.Errorf("a plan would write %+v, %v", preview, err)
	}
	for range 2 { // it keeps the suffix
		if m.Mirrored(m.config, m.Docker("b")); m.text(folder+"imageset-0.yaml") == "" {
			t.Errorf("the second mirror of a workspace has not its image set in the names: %q", preview.Resources.Files)
		}
	}
	r := m.Mirrored(m.config, m.Docker("b"), func(o *mirroring.Options) { o.ResourceName = "site-b" })
	if removed, _ := objects(r.Resources); !slices.Equal(removed, []string{"ImageTagMirrorSet itms-generic-imageset-0"}) || m.text(folder+"site-b-0.yaml") == "" {
		t.Errorf("with another name, removed: %q", removed)
	}
	o := m.MirrorOptions(m.config, m.Docker("ocp"))
	o.ResourceName = "site-b"
	_, err = mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Input, `Options.ResourceName "site-b" belongs to another mirror of the workspace`)
	// Another workspace for a mirror has the same objects.
	m.Mirrored(m.config, m.Docker("ocp"), func(o *mirroring.Options) { o.Workspace = m.Path("other") })
	fail.Diff(t, m.text("workspace/"+mirrorSet), m.text("other/"+mirrorSet))
}

// TestCheckManifestOptions checks values that have no meaning, each with what can be given.
func TestCheckManifestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]resources.Options{
		"": {MirrorSourcePolicy: "NeverContactSource", ImagePolicies: "v1", ImagePolicyNamespace: "openshift-config"},
		`Options.MirrorSourcePolicy "never"; give NeverContactSource or AllowContactingSource`: {MirrorSourcePolicy: "never"},
		`Options.ImagePolicies "v2"; give v1 or v1alpha1`:                                      {ImagePolicies: "v2"},
		`Options.ImagePolicyNamespace: `:                                                       {ImagePolicyNamespace: "Not A Name"},
	} {
		got := ""
		if err := (&cluster.ManifestOptions{Options: o}).Check(); err != nil {
			got = env.ErrorText(err)
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}
