package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/query"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
)

// withTools has a release for amd64 and one for all architectures, with tools.
func withTools() releasetest.Definition {
	one := releasetest.Release{Version: "4.20.5", Components: append(releasetest.ToolComponents(), "cluster-version-operator"), Tools: true,
		BootFiles: map[string]string{"amd64/metal/iso/disk": "an ISO image", "amd64/metal/pxe/kernel": "a kernel", "amd64/metal/pxe/rootfs": "a root", "arm64/metal/iso/disk": "another"},
	}
	multi := one
	multi.Arch = release.Multi
	return releasetest.Definition{Releases: []releasetest.Release{one, multi}, Channels: map[string][]string{"stable-4.20": {"4.20.5"}}}
}

// checkBootImages checks which boot images are listed for releases, and where they are.
func checkBootImages(t *testing.T, w *platformFixture, server string, wants map[string]string) {
	t.Helper()
	for release, want := range wants {
		var list query.BootImageList
		if err := json.Unmarshal([]byte(w.must(append([]string{"release", "boot-images", "-o", "json"}, strings.Fields(release)...)...).stdout), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list.BootImages {
			got = append(got, i.Kind+" "+string(i.Arch)+" "+i.Part)
			if !strings.HasPrefix(i.Address, server+"/rhcos-4.20.5-metal-") || i.SHA256.Validate() != nil {
				t.Errorf("%+v", i)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s lists %s, want %s", release, strings.Join(got, ", "), want)
		}
	}
}

// checkExtractedTools checks which tools and boot images are extracted from the archive on the disk.
func checkExtractedTools(t *testing.T, w *platformFixture, iso string) {
	t.Helper()
	w.looked(exitOK, "archive", "extract", "file://"+w.path("disk"), "--files", w.path("out"))
	extracted := w.tree("out")
	if diff := cmp.Diff([]string{"oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64", releasetest.BootFile("4.20.5", "arm64/metal/iso/disk"), iso}, slices.Sorted(maps.Keys(extracted))); diff != "" {
		t.Error(diff)
	}
	if extracted[iso] != "an ISO image" || !strings.Contains(extracted["oc-4.20.5-linux-amd64"], "4.20.5\x00") {
		t.Errorf("the files of the archive are %q", extracted)
	}
	if text := w.looked(exitOK, "archive", "extract", "file://"+w.path("disk"), "--files", w.path("one"), "--file", "oc-4.20.5-linux-amd64").stdout; len(w.tree("one")) != 1 || !strings.Contains(text, "oc-4.20.5-linux-amd64") {
		t.Errorf("one file is %v, %s", w.tree("one"), text)
	}
	// A tool with other content is replaced only with --force, and the file before it is in the result.
	w.looked(exitOK, "archive", "extract", "file://"+w.path("disk"), "--files", w.path("out"))
	w.write("out/oc-4.20.5-linux-amd64", "another program")
	kept := w.looked(exitUsage, "archive", "extract", "file://"+w.path("disk"), "--files", w.path("out"))
	w.says(kept.stderr, "oc-4.20.5-linux-amd64 exists and has other content", "--force")
	w.says(kept.stdout, iso)
	if got := w.tree("out")["oc-4.20.5-linux-amd64"]; got != "another program" {
		t.Errorf("a tool was replaced: %q", got)
	}
	w.looked(exitOK, "archive", "extract", "file://"+w.path("disk"), "--files", w.path("out"), "--force")
	if diff := cmp.Diff(extracted, w.tree("out")); diff != "" {
		t.Errorf("tools extracted with --force differ: %s", diff)
	}
}

// TestReleaseTools extracts tools at the source, from a mirror, and from an archive without a network.
func TestReleaseTools(t *testing.T) {
	t.Parallel()
	definition := withTools()
	var files sync.Map
	for key, content := range definition.Releases[0].BootFiles {
		files.Store("/"+releasetest.BootFile("4.20.5", key), content)
	}
	boot := registrytest.Serve(t, registrytest.Options{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		content, _ := files.Load(r.URL.Path)
		http.ServeContent(rw, r, "", time.Time{}, strings.NewReader(content.(string)))
	}))
	definition.BootServer = boot.URL()
	w := newPlatformFixture(t, definition)
	config := w.config("imageset.yaml", "  platform: {architectures: [amd64, multi], channels: [{name: stable-4.20}], tools: {names: [oc, oc-mirror], platforms: [linux/amd64, windows/amd64], bootImages: [metal/iso]}}\n")
	w.says(w.must("plan", "-c", config).stdout, "Tools in the images of releases\n  4.20.5-multi: oc (linux/amd64, windows/amd64), oc-mirror (linux/amd64)\n")
	w.must("mirror", "-c", config, w.docker("/ocp"))
	w.must("mirror", "-c", config, "file://"+w.path("disk"))
	iso := releasetest.BootFile("4.20.5", "amd64/metal/iso/disk")
	files.Store("/"+iso, "another one!") // of the same size
	w.refuse(exitPartial, []string{iso, digest.FromString("an ISO image").Encoded()}, "mirror", "-c", config, w.docker("/wrong"), "--workspace", w.path("wrong"))
	if _, ok := w.stores("wrong")["gantry/files"].Tags[iso]; ok {
		t.Error("a boot image with another checksum was mirrored")
	}
	boot.Shut()
	p := w.payload("4.20.5-x86_64")
	image, archive, multi := w.docker("/ocp/openshift/release-images:4.20.5-x86_64"), "file://"+w.path("disk")+"#4.20.5-x86_64", "file://"+w.path("disk")+"#4.20.5-multi"
	platforms := []string{"--platform", "linux/amd64", "--platform", "darwin/arm64", "--platform", "windows/amd64"}
	w.must(append([]string{"release", "tools", p.Reference(), "--to", w.path("source")}, platforms...)...)
	plug := w.unplug()
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/far"), "--workspace", w.path("far"))
	for _, prefix := range []string{"ocp", "far"} {
		for _, name := range []string{iso, releasetest.BootFile("4.20.5", "arm64/metal/iso/disk")} {
			if _, ok := w.stores(prefix)["gantry/files"].Tags[name]; !ok {
				t.Errorf("%s has no boot image %s", prefix, name)
			}
		}
	}
	w.must(append([]string{"release", "tools", image, "--to", w.path("mirror"), "--release-image", p.Reference()}, platforms...)...)
	o := w.must(append([]string{"release", "tools", archive, "--to", w.path("archive")}, platforms...)...)
	want := w.tree("source")
	for _, from := range []string{"mirror", "archive"} {
		if diff := cmp.Diff(want, w.tree(from)); diff != "" {
			t.Errorf("the tools from the %s differ: %s", from, diff)
		}
	}
	var names, sums []string
	for _, name := range []string{"oc-4.20.5-darwin-arm64", "oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64", "openshift-install-4.20.5-linux-amd64", "openshift-install-4.20.5-x86_64-darwin-arm64"} {
		names = append(names, name)
		sums = append(sums, digest.FromString(want[name]).Encoded()+"  "+name+"\n")
	}
	if len(want) != len(names) || o.stdout != strings.Join(sums, "") {
		t.Errorf("the tools are %d files:\n%s", len(want), o.stdout)
	}
	w.says(o.stderr, "oc for darwin/arm64 cannot be signed again", "openshift-install for darwin/arm64 cannot be signed again") // a script

	for file, says := range map[string]string{
		"archive/oc-4.20.5-linux-amd64":                "cli amd64 usr/bin/oc\n4.20.5\n",
		"archive/openshift-install-4.20.5-linux-amd64": "installer amd64 usr/bin/openshift-install\n" + p.Reference() + "\n",
		"archive/oc-mirror-4.20.5-linux-amd64":         "oc-mirror amd64 usr/bin/oc-mirror\n",
	} {
		if runtime.GOOS == "windows" {
			break
		}
		out, err := exec.CommandContext(t.Context(), w.path(file)).Output()
		if err != nil || !strings.HasPrefix(string(out), says) {
			t.Errorf("%s prints %q, %v", file, out, err)
		}
	}

	// The plan in the archive says which tools it is meant to have.
	w.must("release", "tools", multi, "--to", w.path("planned"))
	if diff := cmp.Diff([]string{"oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64"}, slices.Sorted(maps.Keys(w.tree("planned")))); diff != "" {
		t.Error(diff)
	}

	checkExtractedTools(t, w, iso)
	w.refuseLook(exitUsage, []string{"there is no file oc-4.20.5-linux-amd64", "gantry release tools"}, "pull", w.docker("/ocp"), "oc-4.20.5-linux-amd64")
	w.refuseLook(exitUsage, []string{"there is no file oc; it is in the images", "gantry release tools"}, "pull", w.docker("/ocp"), "oc")

	// A mirror is what openshift-install installs, unless another image is given.
	w.must("release", "tools", image, "openshift-install", "--to", w.path("own"))
	if own := w.tree("own")["openshift-install-4.20.5-linux-amd64"]; !strings.Contains(own, w.mirror.Host+"/ocp/openshift/release-images@"+p.Digest.String()+"\x00") {
		t.Errorf("the installer has %q", own)
	}
	w.must("release", "tools", multi, "oc", "openshift-install", "--to", w.path("multi"), "--platform", "linux/arm64")
	installer := w.tree("multi")["openshift-install-4.20.5-multi-linux-arm64"]
	if !strings.Contains(installer, "multi (linux/arm64)\x00") || !strings.Contains(installer, w.payload("4.20.5-multi").Reference()+"\x00") {
		t.Errorf("the installer has %q", installer)
	}

	var list query.ReleaseToolList
	if err := json.Unmarshal([]byte(w.must("release", "tools", archive, "-o", "json").stdout), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 25 || list.Tools[0] != (query.ReleaseTool{Name: "oc", Platform: "darwin/amd64", File: "oc-4.20.5-darwin-amd64", Image: "cli-artifacts"}) {
		t.Errorf("%d tools are listed: %+v", len(list.Tools), list.Tools)
	}
	w.says(w.must("release", "tools", archive, "oc-mirror", "oc").stdout, "NAME ", "oc-mirror  linux/amd64", "darwin/amd64, darwin/arm64, linux/amd64, linux/arm64, linux/ppc64le, windows/amd64")

	checkBootImages(t, w, boot.URL(), map[string]string{
		archive:                "metal/iso amd64 disk, metal/pxe amd64 kernel, metal/pxe amd64 rootfs",
		archive + " metal/pxe": "metal/pxe amd64 kernel, metal/pxe amd64 rootfs",
		multi + " metal/iso":   "metal/iso amd64 disk, metal/iso arm64 disk",
	})
	w.says(w.must("release", "boot-images", archive, "metal/iso").stdout, "KIND ", "metal/iso  amd64  disk  "+boot.URL()+"/"+iso)
	w.refuse(exitUsage, []string{`has no boot image "metal/isos" for amd64`, `did you mean "metal/iso"?`}, "release", "boot-images", archive, "metal/isos")

	to := " --to " + w.path("none")
	for args, words := range map[string]string{
		archive + " openshift-instal" + to:                     `did you mean "openshift-install"`,
		archive + " --platform linux/amd46" + to:               `no tools for platform "linux/amd46"|did you mean "linux/amd64"`,
		archive + " oc-mirror --platform darwin/arm64" + to:    "has no oc-mirror for darwin/arm64|linux/amd64",
		archive + " --release-image " + p.Reference():          "--release-image|set --to",
		archive + " --release-image quay.io/example/a:v1" + to: "--release-image|must have a digest",
		archive + " oc.rhel8" + to:                             "the image has no /usr/share/openshift/linux_amd64/oc.rhel8",
	} {
		code := exitUsage
		if strings.Contains(args, "rhel8") {
			code = exitError
		}
		w.refuse(code, strings.Split(words, "|"), append([]string{"release", "tools"}, strings.Fields(args)...)...)
	}
	plug()
	if files, err := os.ReadDir(w.path("none")); err == nil && len(files) > 0 {
		t.Errorf("a tool that is refused left %s", filepath.Join("none", files[0].Name()))
	}
}
