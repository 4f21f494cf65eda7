package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// releaseOf returns a release with components.
func releaseOf(arch release.Arch, components ...string) *payload.Payload {
	p := &payload.Payload{Release: payload.Release{Version: "4.20.5", Arch: arch}}
	for _, name := range components {
		p.Components = append(p.Components, payload.Component{Names: []string{name}, Ref: "quay.io/example/content@sha256:" + name})
	}
	return p
}

// all are the components with tools.
var all = strings.Fields("baremetal-installer cli cli-artifacts cloud-credential-operator installer installer-artifacts oc-mirror")

func platforms(t *testing.T, text string) []release.ToolPlatform {
	t.Helper()
	var list []release.ToolPlatform
	for name := range strings.FieldsSeq(text) {
		p, err := release.ParseToolPlatform(name)
		fail.On(t, err)
		list = append(list, p)
	}
	return list
}

func TestSelect(t *testing.T) {
	for _, tc := range []struct {
		arch             release.Arch
		names, platforms string
		want             string
	}{
		{"amd64", "", "", "oc:linux/amd64:cli:/usr/bin/oc openshift-install:linux/amd64:installer:/usr/bin/openshift-install oc-mirror:linux/amd64:oc-mirror:/usr/bin/oc-mirror"},
		{"amd64", "", "darwin/arm64", "oc:darwin/arm64:cli-artifacts:/usr/share/openshift/mac_arm64/oc openshift-install:darwin/arm64:installer-artifacts:/usr/share/openshift/mac_arm64/openshift-install"},
		{"arm64", "oc", "", "oc:linux/arm64:cli:/usr/bin/oc"},
		{"multi", "oc", "", "oc:linux/amd64:cli:/usr/bin/oc"},
		{"multi", "oc", "linux/s390x darwin/arm64", "oc:darwin/arm64:cli-artifacts:/usr/share/openshift/mac_arm64/oc oc:linux/s390x:cli:/usr/bin/oc"},
		{"amd64", "oc", "linux/arm64 windows/amd64 mac/x86_64", "oc:darwin/amd64:cli-artifacts:/usr/share/openshift/mac/oc oc:linux/arm64:cli-artifacts:/usr/share/openshift/linux_arm64/oc oc:windows/amd64:cli-artifacts:/usr/share/openshift/windows/oc.exe"},
		{"amd64", "openshift-install", "linux/arm64", "openshift-install:linux/arm64:installer-artifacts:/usr/share/openshift/linux_arm64/openshift-install"},
		{"amd64", "", "linux/amd64 darwin/arm64", "oc:darwin/arm64:cli-artifacts:/usr/share/openshift/mac_arm64/oc oc:linux/amd64:cli:/usr/bin/oc " +
			"openshift-install:darwin/arm64:installer-artifacts:/usr/share/openshift/mac_arm64/openshift-install openshift-install:linux/amd64:installer:/usr/bin/openshift-install " +
			"oc-mirror:linux/amd64:oc-mirror:/usr/bin/oc-mirror"},
		{"amd64", "oc.rhel8", "linux/s390x", "oc.rhel8:linux/s390x:cli-artifacts:/usr/share/openshift/linux_s390x/oc.rhel8"},
		{"amd64", "openshift-install-fips ccoctl.rhel9", "", "openshift-install-fips:linux/amd64:baremetal-installer:/usr/bin/openshift-install ccoctl.rhel9:linux/amd64:cloud-credential-operator:/usr/bin/ccoctl.rhel9"},
	} {
		found, notes, err := Select(releaseOf(tc.arch, all...), strings.Fields(tc.names), platforms(t, tc.platforms))
		got := elements.Map(found, func(x Tool) string { return x.Name + ":" + x.Platform.String() + ":" + x.Component + ":/" + x.Path })
		if diff := cmp.Diff(strings.Fields(tc.want), got); err != nil || diff != "" || notes != nil {
			t.Errorf("%s %s %s: %v %s", tc.arch, tc.names, tc.platforms, err, diff)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	for _, tc := range []struct {
		components       []string
		names, platforms string
		want, hint       string
	}{
		{all, "openshift-instal", "", `there is no tool "openshift-instal"`, `did you mean "openshift-install"`},
		{all, "oc-mirror", "darwin/arm64", "release 4.20.5-x86_64 has no oc-mirror for darwin/arm64", "it has the tool for linux/amd64"},
		{all, "oc-mirror oc", "linux/s390x", "has no oc for linux/s390x", "darwin/amd64, darwin/arm64, linux/amd64"},
		{all, "oc openshift-install", "windows/amd64", "has no openshift-install for windows/amd64", "linux/amd64"},
		{all, "ccoctl", "linux/amd64 darwin/arm64", "has none of the tools ccoctl for darwin/arm64", "leave it out"},
		{[]string{"cli"}, "oc", "linux/arm64", `release 4.20.5-x86_64 has no image "cli-artifacts", which would have oc for linux/arm64`, "leave out"},
	} {
		_, _, err := Select(releaseOf("amd64", tc.components...), strings.Fields(tc.names), platforms(t, tc.platforms))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(advice.Hint(err), tc.hint) {
			t.Errorf("%s %s: got %v (%s), want %s (%s)", tc.names, tc.platforms, err, advice.Hint(err), tc.want, tc.hint)
		}
	}
	found, notes, err := Select(releaseOf("amd64", "cli", "installer"), nil, nil)
	if want := []string{`release 4.20.5-x86_64 has no image "oc-mirror", which would have oc-mirror for linux/amd64`}; err != nil || len(found) != 2 || !slices.Equal(notes, want) {
		t.Errorf("without oc-mirror: %v, %v, %v", found, notes, err)
	}
	if _, _, err := Select(releaseOf("amd64", "etcd"), nil, nil); err == nil || !strings.Contains(err.Error(), "has none of the tools oc, openshift-install, oc-mirror for linux/amd64") {
		t.Errorf("without any: %v", err)
	}
	for text, hint := range map[string]string{
		"linux/amd46": `did you mean "linux/amd64"`, "linux": `did you mean "linux/amd64"`, "solaris/sparc": "the platforms are", "windows/arm64": "",
	} {
		if p, err := release.ParseToolPlatform(text); err == nil || !strings.Contains(advice.Hint(err), hint) {
			t.Errorf("%s is %v, %v (%s)", text, p, err, advice.Hint(err))
		}
	}
}

func TestAll(t *testing.T) {
	count := func(p *payload.Payload) map[string]int {
		found := map[string]int{}
		for _, x := range All(p) {
			found[x.Name]++
		}
		return found
	}
	fail.Diff(t, map[string]int{"oc": 6, "oc.rhel8": 4, "oc.rhel9": 4, "openshift-install": 4, "openshift-install-fips": 1, "oc-mirror": 1, "oc-mirror.rhel8": 1, "oc-mirror.rhel9": 1, "ccoctl": 1, "ccoctl.rhel8": 1, "ccoctl.rhel9": 1}, count(releaseOf("amd64", all...)))
	fail.Diff(t, map[string]int{"oc": 1}, count(releaseOf("s390x", "cli")))
	names := map[string]bool{}
	for _, x := range All(releaseOf("multi", all...)) {
		file := x.File("4.20.5", release.Multi)
		if names[file] {
			t.Errorf("two tools are called %s", file)
		}
		names[file] = true
	}
	for _, want := range []string{"oc-4.20.5-windows-amd64.exe", "openshift-install-4.20.5-multi-linux-ppc64le", "oc-mirror-4.20.5-linux-arm64"} {
		if !names[want] {
			t.Errorf("no tool is called %s", want)
		}
	}
	var known []string
	for i := range programs {
		known = append(known, programs[i].name)
		for platform := range programs[i].folders {
			if _, err := release.ParseToolPlatform(platform); err != nil {
				t.Errorf("%s: %v", programs[i].name, err)
			}
		}
	}
	fail.Diff(t, release.ToolNames(), known)
	if slices.ContainsFunc(release.DefaultToolNames(), func(name string) bool { return release.CheckToolName(name) != nil }) {
		t.Error("a default tool is unknown")
	}
}
