package extract_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestToolsAndBootImages carries the tools and boot images of releases, and extracts them from the archive.
func TestToolsAndBootImages(t *testing.T) {
	t.Parallel()
	one := releasetest.Release{
		Version: "4.20.5", Components: append(releasetest.ToolComponents(), "cluster-version-operator"), Tools: true,
		BootFiles: map[string]string{"amd64/metal/iso/disk": "an ISO image", "amd64/metal/pxe/kernel": "a kernel", "arm64/metal/iso/disk": "another"},
	}
	multi := one
	multi.Arch = release.Multi
	var served sync.Map
	for key, content := range one.BootFiles {
		served.Store("/"+releasetest.BootFile("4.20.5", key), content)
	}
	boot := registrytest.Serve(t, registrytest.Options{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		content, _ := served.Load(r.URL.Path)
		http.ServeContent(rw, r, "", time.Time{}, strings.NewReader(content.(string)))
	}))
	p := mirrortest.NewPlatform(t, releasetest.Definition{Releases: []releasetest.Release{one, multi}, Channels: map[string][]string{"stable-4.20": {"4.20.5"}}, BootServer: boot.URL()})
	config := p.Config("imageset.yaml", "  platform: {architectures: [amd64, multi], channels: [{name: stable-4.20}], tools: {names: [oc, oc-mirror], platforms: [linux/amd64, windows/amd64], bootImages: [metal/iso]}}\n")
	disk := p.Exported(config, "disk")
	iso, other := releasetest.BootFile("4.20.5", "amd64/metal/iso/disk"), releasetest.BootFile("4.20.5", "arm64/metal/iso/disk")

	// A boot image of the same size with another checksum is not mirrored.
	served.Store("/"+iso, "another one!")
	o := p.MirrorOptions(config, p.Docker("wrong"))
	o.Workspace = p.Path("wrong")
	wrong, err := mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Partial, "1 file is not mirrored")
	if failed := wrong.Report.Failed; len(failed) != 1 || !strings.Contains(failed[0].Source, iso) || !strings.Contains(failed[0].Reason, digest.FromString("an ISO image").Encoded()) {
		t.Errorf("failed: %+v", failed)
	}
	if _, found := p.MirrorTags("wrong/gantry/files")[iso]; found {
		t.Error("a boot image with another checksum was mirrored")
	}
	boot.Shut()

	plug := p.Unplug()
	p.Imported(p.Docker("far"), disk)
	fail.Diff(t, []string{other, iso}, slices.Sorted(maps.Keys(p.MirrorTags("far/gantry/files"))), named)
	plug()
	for _, name := range []string{"oc-4.20.5-linux-amd64", "oc"} {
		_, err := pull.File(t.Context(), pull.Options{Env: p.Env, From: p.Docker("far"), Name: name, To: p.Path("pulled")})
		mirrortest.Refused(t, err, advice.Input, "there is no file "+name, "gantry release tools")
	}

	files := func(to string, force bool, names ...string) (*extract.ExtractedFiles, error) {
		return extract.Files(t.Context(), extract.FilesOptions{Options: open.Options{Env: p.Env, Folders: []string{disk}}, To: p.Path(to), Names: names, Force: force})
	}
	want := []string{iso, other, "oc-4.20.5-linux-amd64", "oc-4.20.5-windows-amd64.exe", "oc-mirror-4.20.5-linux-amd64"}
	all, err := files("out", false)
	fail.On(t, err)
	fail.Diff(t, want, written(all), sorted)
	tool, err := os.ReadFile(p.Path("out/oc-4.20.5-linux-amd64"))
	if err != nil || !strings.Contains(string(tool), "4.20.5\x00") {
		t.Errorf("the tool is %q, %v", tool, err)
	}
	if image, err := os.ReadFile(p.Path("out/" + iso)); err != nil || string(image) != "an ISO image" {
		t.Errorf("the boot image is %q, %v", image, err)
	}
	if one, err := files("one", false, "oc-4.20.5-linux-amd64"); err != nil || !slices.Equal(written(one), []string{"oc-4.20.5-linux-amd64"}) {
		t.Errorf("one file is %v, %v", written(one), err)
	}
	// A tool with other content is replaced only by force, and what was written before it is in the result.
	_, err = files("out", false)
	fail.On(t, err)
	p.Write("out/oc-4.20.5-linux-amd64", "another program")
	some, err := files("out", false)
	mirrortest.Refused(t, err, advice.Input, "oc-4.20.5-linux-amd64 exists and has other content")
	if kept, err := os.ReadFile(p.Path("out/oc-4.20.5-linux-amd64")); err != nil || string(kept) != "another program" || !slices.Contains(written(some), iso) {
		t.Errorf("the tool is %q, %v, and %v are reported", kept, err, written(some))
	}
	_, err = files("out", true)
	if again, readErr := os.ReadFile(p.Path("out/oc-4.20.5-linux-amd64")); err != nil || readErr != nil || string(again) != string(tool) {
		t.Errorf("the tool is %q, %v, %v", again, err, readErr)
	}
}

var sorted = cmp.Transformer("sorted", func(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), "\n")
})

// named ignores the second tag of a file, which has its digest.
var named = cmp.Transformer("named", func(tags []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.Contains(tag, "64-") }), "\n")
})

// written returns the names of extracted files and tools.
func written(r *extract.ExtractedFiles) (names []string) {
	if r == nil {
		return nil
	}
	names = elements.Map(r.Files, func(f pull.PulledFile) string { return f.Name })
	for _, f := range r.Tools {
		names = append(names, f.File)
	}
	return names
}
