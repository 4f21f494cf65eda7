package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// TestNextSteps checks what is printed after a run: the command that applies the resources, or the
// files to carry and the command for the disconnected side.
func TestNextSteps(t *testing.T) {
	t.Parallel()
	written := &airgap.ExportResult{Sequence: 2, Bytes: 6 << 20, Files: []archive.FileInfo{
		{Name: "gantry-000002.0001.tar", Size: 4 << 20}, {Name: "gantry-000002.0002.tar", Size: 2<<20 - 300}, {Name: "gantry-000002.json", Size: 300},
	}}
	sealed := *written
	sealed.Files = []archive.FileInfo{{Name: "gantry-000002.json.age", Size: 1}, {Name: "gantry-000002.json.sig", Size: 1}}
	for name, tc := range map[string]struct {
		result mirroring.Result
		want   string
	}{
		"folders beside them": {mirroring.Result{Resources: &cluster.ResourceFiles{Dir: "w/cluster-resources", Removed: []string{"a.yaml"}, Folders: []cluster.WrittenFolder{{Dir: "w/hosts", Files: []string{"b", "c"}, Removed: []string{"k3s/d"}}}}},
			"Cluster resources: w/cluster-resources (0 files)\n  removed a.yaml, which no longer applies\nBeside them: w/hosts (2 files)\n  removed k3s/d, which no longer applies\n"},
		"a registry": {mirroring.Result{Resources: &cluster.ResourceFiles{
			Dir: "my workspace/cluster-resources", Files: []string{"a.yaml"},
			Applied: &resources.Kustomized{For: "openshift-4.17", Components: []string{"olm-classic"}, Missing: []string{"trusted-ca"}, LeftOut: []resources.LeftOut{
				{Component: "disable-default-catalogs", Reason: "disables", Optional: true, Setting: true}, {Component: "olm-v1", Reason: "needs OpenShift 4.18"},
			}},
			Objects: &resources.Changes{Added: []resources.ObjectName{{Kind: "ImageTagMirrorSet", Name: "a"}}},
			Nodes:   &resources.NodeEffect{Effect: resources.NodesDrain, Reason: "quay.io/a has mirrors for tags now"},
		}}, `Cluster resources: my workspace/cluster-resources (1 file)
  nodes will drain one after another, without a reboot: quay.io/a has mirrors for tags now
Not applied: olm-v1, which needs OpenShift 4.18
Not applied: trusted-ca, which the mirror has no content for
To configure clusters:
  oc apply -k 'my workspace/cluster-resources'
`},
		"Kubernetes": {mirroring.Result{Resources: &cluster.ResourceFiles{
			Dir: "d", Files: []string{"a.yaml"}, Applied: &resources.Kustomized{For: "kubernetes", Components: []string{"olm-v1"}},
		}}, "Cluster resources: d (1 file)\nTo configure clusters:\n  kubectl apply -k d\n"},
		"an update service": {mirroring.Result{Resources: &cluster.ResourceFiles{
			Dir: "d", Files: []string{"a.yaml"}, Applied: &resources.Kustomized{For: "openshift-4.20", LeftOut: []resources.LeftOut{{Component: "update-service", Reason: "needs an operator", Optional: true}}},
		}}, "Cluster resources: d (1 file)\nNot applied: update-service, which needs an operator\n  to apply it, add its name to --for openshift-4.20\nNothing to apply for openshift-4.20: there is no Kustomization.\n"},
		"no resources": {mirroring.Result{Resources: &cluster.ResourceFiles{Dir: "w"}}, ""},
		"an archive": {mirroring.Result{Destination: "file:///media/disk", Archive: written}, `Sequence 2 at file:///media/disk; carry all of these:
  gantry-000002.0001.tar  4.0 MiB
  gantry-000002.0002.tar  2.0 MiB
  gantry-000002.json      300 B
  total                   6.0 MiB
On the disconnected side, with the path of the folder there:
  gantry mirror --from file:///media/disk docker://MIRROR
`},
		"a signed and encrypted archive": {mirroring.Result{Destination: "file://d", Archive: &sealed}, `Sequence 2 at file://d; carry all of these:
  gantry-000002.json.age  1 B
  gantry-000002.json.sig  1 B
  total                   6.0 MiB
On the disconnected side, with the path of the folder there:
  gantry mirror --from file://d --identity KEY.txt --verify-key KEY.pub docker://MIRROR
`},
		"an archive without content": {mirroring.Result{Destination: "file://d", Archive: &airgap.ExportResult{Sequence: 3, BuildsOn: 2, Empty: true}}, ""},
		"an unfinished run":          {mirroring.Result{Report: &mirror.Report{Unfinished: true}, Destination: "file://d"}, ""},
	} {
		if tc.result.Report == nil {
			tc.result.Report = &mirror.Report{}
		}
		got := Mirrored(&tc.result, "", nil)
		if _, rest, _ := strings.Cut(got, "\n"); rest != tc.want && (name != "an archive without content" || strings.Contains(rest, "carry all")) {
			t.Errorf("%s:\n%s\nwant after the first line:\n%s", name, got, tc.want)
		}
	}
}

// TestNotes checks that notes are counted after a run, grouped in a plan, and not mentioned where the
// user has no configuration to change.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: "r.example.com/b/index:v1"}, {Source: "r.example.com/a/index:v1"}},
		Notes: []string{
			"1 related image has an empty reference; skipped",
			"r.example.com/a/index:v1: package x: one",
			"r.example.com/b/index:v1: package y: two",
			"r.example.com/b/index:v1: package z: three",
		},
	}
	want := `Notes
  1 related image has an empty reference; skipped
  r.example.com/a/index:v1
    package x: one
  r.example.com/b/index:v1
    package y: two
    package z: three
`
	if got := Plan(p, p.Notes, "", nil, nil, 0); !strings.Contains(got, want) {
		t.Errorf("a plan:\n%s\nwant in it:\n%s", got, want)
	}
	for i := range 50 {
		p.Notes = append(p.Notes, "r.example.com/b/index:v1: note "+strings.Repeat("x", i))
	}
	if got := Plan(p, p.Notes, "", nil, nil, 0); strings.Count(got, "    note x") != 49 {
		t.Errorf("a plan does not print all notes:\n%s", got)
	}
	if got := Plan(p, p.Notes[:1], "", nil, nil, 0); !strings.HasPrefix(got[strings.Index(got, "Notes"):], "Notes\n  1 related image has an empty reference; skipped\n  53 notes of the last plan are not repeated; -v prints all\n\n") {
		t.Errorf("known notes:\n%s", got)
	}
	r := &mirroring.Result{Report: &mirror.Report{}, Notes: p.Notes}
	if got := Mirrored(r, "gantry plan -c a.yaml prints them", nil); !strings.Contains(got, "\n54 notes about the plan: gantry plan -c a.yaml prints them.\n") {
		t.Errorf("after a run:\n%s", got)
	}
	if got := Mirrored(r, "", nil); strings.Contains(got, "note") {
		t.Errorf("at a site:\n%s", got)
	}
}

// TestFailureLines checks that each thing that failed is one object on its own line.
func TestFailureLines(t *testing.T) {
	t.Parallel()
	report := &mirror.Report{
		Failed:   []mirror.Failure{{Source: "q.io/a:v1", Repository: "a", Reason: "not found\nat all"}, {Source: "q.io/b:v1", Reason: "<gone>"}},
		Withheld: []mirror.Withheld{{Catalog: "c", Missing: []string{"q.io/a:v1"}}, {Release: "4.20.1", Missing: []string{"q.io/b:v1"}, Reason: "why"}},
		Excluded: []mirror.Excluded{{Catalog: "c", Package: "p", Missing: []string{"q.io/a:v1"}}},
	}
	planned := &plan.Plan{Missing: []plan.Missing{{Source: "q.io/lost:v1", Message: "not found"}}}
	for _, tc := range []struct {
		result mirroring.Result
		want   string
	}{
		{mirroring.Result{Report: report}, `{"kind":"image","source":"q.io/a:v1","repository":"a","reason":"not found\nat all"}
{"kind":"image","source":"q.io/b:v1","reason":"<gone>"}
{"kind":"catalog","catalog":"c","missing":["q.io/a:v1"]}
{"kind":"release","release":"4.20.1","missing":["q.io/b:v1"],"reason":"why"}
{"kind":"package","catalog":"c","package":"p","missing":["q.io/a:v1"]}
`},
		{mirroring.Result{Plan: planned}, `{"kind":"image","source":"q.io/lost:v1","reason":"not found"}` + "\n"},
		{mirroring.Result{Report: &mirror.Report{}}, ""},
	} {
		var b strings.Builder
		if err := FailureLines(&tc.result)(&b); err != nil || b.String() != tc.want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), tc.want)
		}
	}
}

// TestShellWord checks that what a shell interprets is quoted.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"docker://mirror.example.com:5000/a_b": "docker://mirror.example.com:5000/a_b", "": "''", "a b": "'a b'", "$(reboot)": "'$(reboot)'", "`reboot`": "'`reboot`'",
		"a;reboot": "'a;reboot'", "a\nreboot": "'a\nreboot'", "it's": `'it'\''s'`, "*": "'*'", "~": "'~'", `a\b`: `'a\b'`, "größe": "'größe'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", text, got, want)
		}
	}
}
