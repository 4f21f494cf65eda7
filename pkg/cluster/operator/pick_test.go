package operator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// text returns the text of an error, or "".
func text(err error) string {
	if err == nil {
		return ""
	}
	return env.ErrorText(err)
}

// gulls writes a catalog whose package has several channels, a bundle with an invalid version and one without
// manifests, and returns its folder.
func gulls(t *testing.T) string {
	t.Helper()
	files := `schema: olm.package
name: gull
defaultChannel: stable
---
{schema: olm.channel, package: gull, name: candidate, entries: [{name: gull.v2.0.0, replaces: gull.v1.1.0}, {name: gull.v1.1.0}]}
---
{schema: olm.channel, package: gull, name: stable, entries: [{name: gull.v1.1.0, replaces: gull.v1.0.0}, {name: gull.v1.0.0}]}
---
{schema: olm.channel, package: gull, name: broken, entries: [{name: gull.vX}]}
---
{schema: olm.channel, package: gull, name: gone, entries: [{name: gull.v9.0.0}]}
`
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0", "X"} {
		files += "---\n{schema: olm.bundle, package: gull, name: gull.v" + version + ", properties: [{type: olm.package, value: {packageName: gull, version: '" + version + "'}}]}\n"
	}
	dir := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(files), 0o600))
	return dir
}

// TestPickBundle checks which bundle and channel are installed, and what is said about versions that a package does not have.
func TestPickBundle(t *testing.T) {
	t.Parallel()
	o := &InstallOptions{Workspace: t.TempDir(), Catalog: gulls(t), Package: "gull"}
	e, done := o.Env.OrDefault()
	defer done()
	s, err := openOperators(t.Context(), e, o)
	fail.On(t, err)
	defer s.Close()
	_, p, err := s.find(t.Context(), o)
	fail.On(t, err)
	for _, tc := range []struct{ channel, version, want string }{ // CHANNEL BUNDLE, or an error
		{"", "", "stable gull.v1.1.0"},
		{"candidate", "", "candidate gull.v2.0.0"},
		{"", "1.1.0", "stable gull.v1.1.0"}, // the default channel, although another one comes first
		{"", "2.0.0", "candidate gull.v2.0.0"},
		{"candidate", "1.1.0", "candidate gull.v1.1.0"},
		{"candidate", "1.0.0", "channel candidate of package gull has no version 1.0.0"},
		{"", "1.1.00", `package gull has no version 1.1.00; did you mean "1.1.0" or "1.0.0"?`},
		{"", "7", "package gull has no version 7; it has 1.0.0, 1.1.0, 2.0.0"},
		{"broken", "", "bundle gull.vX: "},
		{"gone", "", "channel gone of package gull has no bundle at its head"},
		{"stabel", "", `package "gull" has no channel "stabel"; did you mean "stable"?`},
	} {
		channel, b, err := pickBundle(p, tc.channel, tc.version)
		got := text(err)
		if err == nil {
			got = channel + " " + b.Name
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("channel %q and version %q: %s, want %s", tc.channel, tc.version, got, tc.want)
		}
	}
	if _, err := NewInstall(t.Context(), *o); advice.KindOf(err) != advice.Input || !strings.Contains(env.ErrorText(err), "choose another version: this bundle has no image, either") {
		t.Errorf("a bundle without manifests and image: %v", err)
	}
}

// TestInstallOptions checks options that are missing, that contradict each other, and that have other values.
func TestInstallOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]InstallOptions{
		"":                                     {Package: "gull", Approval: ApprovalManual, OLM: OLMClassic},
		"Options.Package is missing":           {},
		`Options.OLM "v2": give v1 or classic`: {Package: "gull", OLM: "v2"},
		`Options.Approval "never": give automatic or manual`:                                                                            {Package: "gull", OLM: OLMClassic, Approval: "never"},
		"Options.Approval, Options.TrustedCA and proxies are settings of a Subscription; set Options.OLM to classic, or leave them out": {Package: "gull", NoProxy: "a"},
		"Options.ServiceAccount, Options.CertManager and Options.For are for OLM v1; leave them out":                                    {Package: "gull", OLM: OLMClassic, CertManager: true},
	} {
		if got := text(o.check()); got != want && want+": name the package" != got {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

// TestLastMirror checks what a workspace was used for: a mirror is preferred to a disk.
func TestLastMirror(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		used []string
		want string
	}{
		{nil, "was not used for a mirror; name a mirror, an archive or a layout with Options.From"},
		{[]string{"file:///srv/disk", "docker://mirror.example.com", "docker://mirror.example.com"}, "docker://mirror.example.com"},
		{[]string{"oci:///srv/layout", "file:///srv/disk"}, "file:///srv/disk"},
		{[]string{"docker://a.example.com", "docker://b.example.com"}, "several destinations: docker://a.example.com, docker://b.example.com"},
	} {
		dir := t.TempDir()
		ws, err := state.Open(dir)
		fail.On(t, err)
		for i, destination := range tc.used {
			fail.On(t, ws.SaveRun(state.Run{Destination: destination, Name: strings.Repeat("c", i+1)}))
		}
		fail.On(t, ws.Close())
		found, err := lastMirror(dir)
		if got := strings.Join(append(slices.Clone(found), text(err)), ""); !strings.Contains(got, tc.want) {
			t.Errorf("%q: %s, want %s", tc.used, got, tc.want)
		}
	}
}
