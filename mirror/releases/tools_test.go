package releases_test

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// toolPlatform has a release for amd64 and one for all architectures, with tools and boot images. The archive in the
// folder disk has both.
func toolPlatform(t *testing.T) (p *mirrortest.Platform, boot string) {
	t.Helper()
	one := releasetest.Release{
		Version: "4.20.5", Components: append(releasetest.ToolComponents(), "cluster-version-operator"), Tools: true,
		BootFiles: map[string]string{"amd64/metal/iso/disk": "an ISO image", "amd64/metal/pxe/kernel": "a kernel", "amd64/metal/pxe/rootfs": "a root", "arm64/metal/iso/disk": "another"},
	}
	multi := one
	multi.Arch = release.Multi
	server := registrytest.Serve(t, registrytest.Options{}, http.NotFoundHandler())
	p = mirrortest.NewPlatform(t, releasetest.Definition{
		Releases: []releasetest.Release{one, multi}, Channels: map[string][]string{"stable-4.20": {"4.20.5"}}, BootServer: server.URL(),
	})
	return p, server.URL()
}

// files reads the files of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	fail.On(t, err)
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		fail.On(t, err)
		all[filepath.Base(name)] = string(text)
	}
	return all
}

// TestReleaseTools extracts tools at the source, from a mirror, and from an archive without a network.
func TestReleaseTools(t *testing.T) {
	t.Parallel()
	p, boot := toolPlatform(t)
	config := p.Config("imageset.yaml", "  platform: {architectures: [amd64, multi], channels: [{name: stable-4.20}], tools: {names: [oc, oc-mirror], platforms: [linux/amd64, windows/amd64]}}\n")
	p.Mirrored(config, p.Docker("ocp"))
	disk := p.Exported(config, "disk")
	later := p.Exported(p.Config("imageset.yaml", "  platform: {architectures: [amd64, multi], channels: [{name: stable-4.20, minVersion: 4.20.5}], tools: {names: [oc, oc-mirror], platforms: [linux/amd64, windows/amd64]}}\n"), "later")
	payload := p.Payload("4.20.5-x86_64")
	image, archive, multi := p.Docker("ocp/openshift/release-images:4.20.5-x86_64"), disk+","+later+"#4.20.5-x86_64", disk+"#4.20.5-multi"
	tools := func(name string, o releases.ToolOptions) (*releases.ReleaseToolList, error) {
		o.ReleaseOptions = releases.ReleaseOptions{Env: p.Env, Workspace: p.Workspace(), Release: name}
		return releases.ReleaseTools(t.Context(), o)
	}
	extracted := func(name, dir string, o releases.ToolOptions) (map[string]string, *releases.ReleaseToolList) {
		t.Helper()
		o.To = p.Path(dir)
		list, err := tools(name, o)
		fail.On(t, err)
		return files(t, o.To), list
	}
	platforms := releases.ToolOptions{Platforms: []string{"linux/amd64", "darwin/arm64", "windows/amd64"}}
	want, _ := extracted(payload.Reference(), "source", platforms)
	defer p.Unplug()()
	_, err := tools(later+"#4.20.5-x86_64", platforms)
	mirrortest.Refused(t, err, advice.Failure, "name the folders of the earlier archives, too")
	with := platforms
	with.ReleaseImage = payload.Reference()
	fromMirror, _ := extracted(image, "mirror", with)
	fromArchive, list := extracted(archive, "archive", platforms)
	for from, got := range map[string]map[string]string{"mirror": fromMirror, "archive": fromArchive} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tools from the %s differ: %s", from, diff)
		}
	}
	names := []string{"oc-4.20.5-darwin-arm64", "oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64", "openshift-install-4.20.5-linux-amd64", "openshift-install-4.20.5-x86_64-darwin-arm64"}
	fail.Diff(t, names, slices.Sorted(maps.Keys(want)))
	for _, tool := range list.Tools {
		if content := want[tool.File]; tool.Digest != digest.FromString(content) || tool.Size != int64(len(content)) {
			t.Errorf("%+v is not what was written", tool)
		}
	}
	notes := strings.Join(list.Notes, "\n")
	for _, tool := range []string{"oc", "openshift-install"} { // these are scripts
		if !strings.Contains(notes, tool+" for darwin/arm64 cannot be signed again") {
			t.Errorf("the notes are %s", notes)
		}
	}
	for name, says := range map[string]string{
		"oc-4.20.5-linux-amd64":                "cli amd64 usr/bin/oc\n4.20.5\n",
		"openshift-install-4.20.5-linux-amd64": "installer amd64 usr/bin/openshift-install\n" + payload.Reference() + "\n",
		"oc-mirror-4.20.5-linux-amd64":         "oc-mirror amd64 usr/bin/oc-mirror\n",
	} {
		if runtime.GOOS == "windows" {
			break
		}
		if out, err := exec.CommandContext(t.Context(), p.Path("archive/"+name)).Output(); err != nil || !strings.HasPrefix(string(out), says) {
			t.Errorf("%s prints %q, %v", name, out, err)
		}
	}

	// The plan in the archive says which tools it is meant to have.
	planned, _ := extracted(multi, "planned", releases.ToolOptions{})
	fail.Diff(t, []string{"oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64"}, slices.Sorted(maps.Keys(planned)))
	// A mirror is what openshift-install installs, unless another image is given.
	own, _ := extracted(image, "own", releases.ToolOptions{Names: []string{"openshift-install"}})
	if text := own["openshift-install-4.20.5-linux-amd64"]; !strings.Contains(text, p.Mirror.Host+"/ocp/openshift/release-images@"+payload.Digest.String()+"\x00") {
		t.Errorf("the installer has %q", text)
	}
	arm, _ := extracted(multi, "multi", releases.ToolOptions{Names: []string{"oc", "openshift-install"}, Platforms: []string{"linux/arm64"}})
	if text := arm["openshift-install-4.20.5-multi-linux-arm64"]; !strings.Contains(text, "multi (linux/arm64)\x00") || !strings.Contains(text, p.Payload("4.20.5-multi").Reference()+"\x00") {
		t.Errorf("the installer has %q", text)
	}
	list, err = tools(archive, releases.ToolOptions{})
	if first := (releases.ReleaseTool{Name: "oc", Platform: "darwin/amd64", File: "oc-4.20.5-darwin-amd64", Image: "cli-artifacts"}); err != nil || len(list.Tools) != 25 || list.Tools[0] != first {
		t.Errorf("%v, %d tools are listed: %+v", err, len(list.Tools), list.Tools)
	}

	// Files with the names of tools are replaced, and others stay.
	again := releases.ToolOptions{Names: []string{"oc"}, Platforms: []string{"linux/amd64"}}
	fail.On(t, os.WriteFile(p.Path("archive/oc-4.20.5-linux-amd64"), []byte("mine"), 0o600))
	fail.On(t, os.WriteFile(p.Path("archive/notes.txt"), []byte("mine"), 0o600))
	replaced, _ := extracted(archive, "archive", again)
	fromArchive["notes.txt"] = "mine"
	fail.Diff(t, fromArchive, replaced)
	info, err := os.Stat(p.Path("archive/oc-4.20.5-linux-amd64"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the replaced file cannot be executed: %v, %v", info, err)
	}

	to := p.Path("none")
	for words, o := range map[string]releases.ToolOptions{
		`did you mean "openshift-install"`:                           {To: to, Names: []string{"openshift-instal"}},
		`no tools for platform "linux/amd46"`:                        {To: to, Platforms: []string{"linux/amd46"}},
		"has no oc-mirror for darwin/arm64":                          {To: to, Names: []string{"oc-mirror"}, Platforms: []string{"darwin/arm64"}},
		"Options.ReleaseImage":                                       {ReleaseImage: payload.Reference()},
		"must have a digest":                                         {To: to, ReleaseImage: "quay.io/example/a:v1"},
		"the image has no /usr/share/openshift/linux_amd64/oc.rhel8": {To: to, Names: []string{"oc.rhel8"}},
	} {
		kind := advice.Input
		if len(o.Names) > 0 && o.Names[0] == "oc.rhel8" {
			kind = advice.Failure
		}
		_, err := tools(archive, o)
		mirrortest.Refused(t, err, kind, words)
	}
	if left := files(t, to); len(left) > 0 {
		t.Errorf("a tool that is refused left %v", slices.Collect(maps.Keys(left)))
	}

	checkBootImages(t, p, boot, archive, multi)
}

// checkBootImages checks which boot images are listed for releases, and where they are.
func checkBootImages(t *testing.T, p *mirrortest.Platform, boot, archive, multi string) {
	t.Helper()
	for _, tc := range []struct {
		release string
		kinds   []string
		want    string
	}{
		{archive, nil, "metal/iso amd64 disk, metal/pxe amd64 kernel, metal/pxe amd64 rootfs"},
		{archive, []string{"metal/pxe"}, "metal/pxe amd64 kernel, metal/pxe amd64 rootfs"},
		{multi, []string{"metal/iso"}, "metal/iso amd64 disk, metal/iso arm64 disk"},
	} {
		list, err := releases.BootImages(t.Context(), releases.ReleaseOptions{Env: p.Env, Workspace: p.Workspace(), Release: tc.release}, tc.kinds)
		fail.On(t, err)
		var got []string
		for _, i := range list.BootImages {
			got = append(got, i.Kind+" "+string(i.Arch)+" "+i.Part)
			if !strings.HasPrefix(i.Address, boot+"/rhcos-4.20.5-metal-") || i.SHA256.Validate() != nil {
				t.Errorf("%+v", i)
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", tc.release, diff)
		}
	}
	_, err := releases.BootImages(t.Context(), releases.ReleaseOptions{Env: p.Env, Workspace: p.Workspace(), Release: archive}, []string{"metal/isos"})
	mirrortest.Refused(t, err, advice.Input, `has no boot image "metal/isos" for amd64`, `did you mean "metal/iso"?`)
}
