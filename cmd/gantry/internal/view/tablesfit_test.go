package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// widthTables are the texts with tables, by the function that renders them, with names as long as those of real catalogs
// and mirrors.
func widthTables() map[string][]func(width int) string {
	const mirrorName, image = "docker://mirror.example.com:5000/ocp", "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:"
	sum := digest.FromString("")
	at := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	b := longBundle()
	kept := []plan.Bundle{{Name: b.Name, Version: b.Version, Reason: "head"}, {Name: "a", Version: "0.2.2", Reason: "continuity"}, {Name: "b", Version: "0.2.3", Reason: "range"}}
	catalog := plan.Catalog{Source: b.Catalog, Digest: sum, Repository: "redhat/redhat-operator-index", Tag: "v4.20", Built: true, Packages: []plan.Package{
		{Name: b.Package, DefaultChannel: "stable-v1.3", Channels: []plan.Channel{{Name: "stable-v1.3", Head: b.Name, Bundles: kept}, {Name: "candidate", Head: b.Name, Bundles: kept[:1]}}},
	}}
	p := &plan.Plan{
		Catalogs: []plan.Catalog{catalog}, Notes: []string{b.Catalog + ": package x: " + strings.Repeat("a note that is longer than a line ", 5)},
		Images:   []plan.Image{{Source: "quay.io/community-operator-pipeline-prod/kube-green:v1", Repository: "community-operator-pipeline-prod/kube-green", Tags: []string{"v1"}, Kind: plan.AdditionalImage, Size: 1 << 31}},
		Releases: []plan.Release{{Version: "4.20.5", Arch: "amd64", Product: "ocp", Digest: sum, URL: "https://access.redhat.com/errata/RHSA-2026:1234"}},
		Missing:  []plan.Missing{{Source: "quay.io/gone:v1", Message: strings.Repeat("why it is missing ", 8)}},
	}
	listed := &listing.CatalogListing{Packages: []listing.ListedOperator{{Name: b.Package, DefaultChannel: "stable-v1.3", Channels: []listing.OperatorChannel{
		{Name: "stable-v1.3", Head: b.Name, Features: b.Features, Bundles: []listing.OperatorBundle{{Name: b.Name, Version: b.Version, Features: b.Features, Deprecated: "too old"}}},
		{Name: "candidate", Head: b.Name}, {Name: "stable-with-a-long-name", Head: b.Name},
	}}}}
	images := []releases.ReleaseImage{{Name: "baremetal-installer", Image: image + sum.Encoded()}, {Name: "cluster-network-operator", Image: image + sum.Encoded()}}
	revision := setrecord.Revision{
		Name: "redhat-operators-and-platform", LastRun: at, User: "mirror-operator", Host: "bastion-17.example.com", From: "configuration", Configuration: sum, Number: 12, Runs: 120,
		Content: setrecord.Content{Catalogs: 2, Packages: 14, Releases: 3, Images: 412, Charts: 1, Files: 4, Bytes: 1 << 37, Missing: 2, Withheld: 1},
	}
	archived := &inspect.ArchiveImages{Images: []inspect.ArchivedImage{{Name: "community-operator-pipeline-prod/kube-green:v1", Kind: plan.AdditionalImage, Size: 1 << 31, Here: "in an earlier archive", Digest: sum}}}
	content := &inspect.ArchiveContent{Content: []inspect.ArchivedContent{
		{Volume: "gantry-000001.0001.tar", Offset: 1 << 40, Size: 1 << 39, Digest: sum, MediaType: "application/vnd.docker.distribution.manifest.list.v2+json"},
		{Volume: "gantry-000001.0001.tar", Offset: 1 << 40, Size: 1 << 39, Digest: sum, DeltaOf: sum, BlobSize: 1 << 30, Part: 1, Parts: 20},
	}}
	logged := &workspace.AuditResult{Result: &audit.Result{Entries: 2, Head: audit.Head{Hash: sum.Encoded()}, Last: []audit.Entry{
		{Sequence: 1234, Time: at, Event: audit.RunEnded, Destination: mirrorName, Result: "complete", Images: 412, Copied: 400, Failed: 2, By: "mirror-operator@bastion", Digest: sum.String()},
		{Sequence: 1235, Time: at, Event: "image deleted", Subject: "community-operator-pipeline-prod/kube-green@" + sum.String(), Message: strings.Repeat("as the list of images says ", 4)},
	}}}
	hop := proof.HopReport{From: "4.18.12", To: "4.19.21", Possible: true, Risks: []string{"OVNKubernetesMasterDSPrestop", "SlowPullsOfImagesWithManyLayers", "AzureCredentials"}}
	platform := &proof.Report{Mirror: mirrorName, Updates: []proof.UpdateReport{{Channel: "candidate-4.20", Arch: "amd64", Hops: []proof.HopReport{hop}}}, Notes: []string{strings.Repeat("a note ", 20)}}
	channels := []string{"candidate-4.20", "eus-4.20", "fast-4.20", "stable-4.20"}
	release := releases.ListedRelease{Version: "4.20.5", URL: "https://access.redhat.com/errata/RHSA-2026:1234", Channels: channels, Head: true, Size: 1 << 34}
	reached := release
	reached.Reached = &releases.Reached{Hops: 3, Risks: 4, Always: 2}
	releaseList := &releases.ReleaseList{Channels: []releases.ListedChannel{{Name: "stable-4.20", Arch: "amd64", Releases: []releases.ListedRelease{release}}, {Name: "stable-4.20", Arch: "amd64", From: "4.18.12", Releases: []releases.ListedRelease{reached}}}}
	channelList := &releases.ReleaseList{Channels: []releases.ListedChannel{{Name: "candidate-4.20", Arch: "multi", Head: "4.20.5", Count: 120}}}
	runs := &workspace.StatusReport{Runs: []state.Run{
		{Destination: mirrorName, Name: "redhat-operators-and-platform", Started: at, Result: state.RunPartial, Images: 412, Copied: 3, Failed: 2, Plan: sum, Sequence: 12, Message: strings.Repeat("what went wrong ", 10)},
		{Destination: "file:///media/mirror-operator/disk-of-november", Name: "a", Started: at, Result: state.RunInterrupted},
	}}
	inspected := &inspect.Inspection{Folders: []string{"/media/mirror-operator/disk-of-november"}, Name: "redhat-operators-and-platform", Sequence: 12, Set: sum, Sets: []inspect.InspectedSet{
		{Sequence: 12, Set: sum, Folder: "/media/mirror-operator/disk-of-november", Volumes: []inspect.InspectedVolume{{Name: "gantry-000012.0001.tar", Size: 1 << 32, Path: "/media/mirror-operator/disk-of-november/gantry-000012.0001.tar", Problem: "it has fewer bytes than the set manifest says"}}},
	}, PlanProblem: "a volume is missing"}
	tools := &releases.ReleaseToolList{}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		tools.Tools = append(tools.Tools, releases.ReleaseTool{Name: "openshift-baremetal-install", Platform: platform})
	}
	return map[string][]func(int) string{
		"ArchiveContent": {func(width int) string { return ArchiveContent(content, width) }},
		"ArchiveImages":  {func(width int) string { return ArchiveImages(archived, width) }},
		"Audit":          {func(width int) string { return Audit(logged, width) }},
		"BootImages": {func(width int) string {
			return BootImages(&releases.BootImageList{BootImages: []releases.BootImage{{Kind: "metal/iso", Arch: "amd64", Part: "disk", Address: "https://rhcos.mirror.openshift.com/art/storage/prod/streams/4.20-9.6/builds/rhcos-live-iso.x86_64.iso"}}}, width)
		}},
		"CatalogListing": {
			func(width int) string { return CatalogListing(listed, false, false, width) }, func(width int) string { return CatalogListing(listed, false, true, width) },
			func(width int) string { return CatalogListing(listed, true, false, width) }, func(width int) string { return CatalogListing(listed, true, true, width) },
		},
		"Contents": {func(width int) string { // TestContentsFit has the others
			return Contents(&contents.List{Bundles: []contents.Bundle{{CatalogBundle: b, Stored: contents.Stored{Size: 1 << 31, At: contents.Partly}}, {Place: "x"}}}, false, width)
		}},
		"Files": {func(width int) string {
			return Files(&pull.FileList{Files: []pull.StoredFile{{MirroredFile: site.MirroredFile{Name: "rhcos/4.20/rhcos-live-iso.x86_64.iso", Size: 1 << 30, SHA256: sum}, Older: true}}}, width)
		}},
		"Filtered": {func(width int) string {
			return Filtered(&authoring.FilterResult{Catalogs: []authoring.FilteredCatalog{{Source: b.Catalog, Catalog: catalog}}}, width)
		}},
		"Inspection": {func(width int) string { return Inspection(inspected, width) }},
		"MirrorState": {func(width int) string {
			return MirrorState(&report.MirrorState{ImageSets: []report.MirroredSet{{Revision: revision, Revisions: []setrecord.Revision{revision}}}}, width)
		}},
		"Plan": {func(width int) string {
			return Plan(p, p.Notes, mirrorName, &mirror.ToCopy{Images: 412, Bytes: 1 << 37, Present: 20}, nil, width)
		}},
		"PlatformCheck": {func(width int) string { return PlatformCheck(platform, width) }},
		"ReleaseImages": {func(width int) string { return ReleaseImages(&releases.ReleaseImageList{Images: images}, nil, width) }},
		"ReleaseInfo": {func(width int) string {
			return ReleaseInfo(&releases.ReleaseInfo{Release: "4.20.5", Arch: "amd64", Source: image, Digest: sum, Images: images, Next: channels}, width)
		}},
		"ReleaseTools": {func(width int) string { return ReleaseTools(tools, width) }},
		"Releases":     {func(width int) string { return Releases(releaseList, width) }, func(width int) string { return Releases(channelList, width) }},
		"Status":       {func(width int) string { return Status(runs, width) }},
	}
}

// TestTablesFit renders every table for screens of several widths: no row is wider than the screen, unless one word is, and
// with sentences wrapped, no line.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	all := widthTables()
	for _, name := range withWidth(t) {
		if all[name] == nil && name != "Wrap" {
			t.Errorf("%s renders for a width, and the test does not have it", name)
		}
	}
	for name, texts := range all {
		for _, text := range texts {
			for _, width := range []int{80, 120, 200} {
				table := text(width)
				checkWidth(t, name, table, width, isRow)
				checkWidth(t, name+" wrapped", Wrap(table, width), width, func(string) bool { return true })
			}
			if whole := text(0); Wrap(whole, 0) != whole {
				t.Errorf("%s: a pipe gets other lines", name)
			}
		}
	}
}

// isRow reports whether a line is a row of a table without a word that takes most of a screen, such as a digest.
func isRow(line string) bool {
	return strings.Contains(strings.TrimSpace(line), "  ") && !strings.Contains(line, "  becomes ") &&
		!slices.ContainsFunc(strings.Fields(line), func(word string) bool { return len(word) > 60 })
}

// checkWidth fails for lines that are wider than a screen and have several words.
func checkWidth(t *testing.T, name, text string, width int, checked func(line string) bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > width && len(strings.Fields(line)) > 1 && checked(line) {
			t.Errorf("%s: %d columns on a screen of %d:\n%s", name, n, width, line)
		}
	}
}

// withWidth returns the exported functions of the package that render for a screen of a width.
func withWidth(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir(".")
	fail.On(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		fail.On(t, err)
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && hasWidth(fn.Type.Params) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

func hasWidth(params *ast.FieldList) bool {
	for _, p := range params.List {
		for _, name := range p.Names {
			if name.Name == "width" {
				return true
			}
		}
	}
	return false
}
