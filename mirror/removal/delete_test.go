package removal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// The stanzas of a DeleteImageSetConfiguration.
const (
	acmeStanza      = "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n"
	tidewaterStanza = acmeStanza + "    packages:\n    - name: tidewater\n"
	netcheckStanza  = "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n"
)

// deletable mirrors two packages and two images, and lists the package tidewater and one image of them. It returns the
// file with the list.
func deletable(t *testing.T) (s *mirrortest.Site, list string) {
	t.Helper()
	s = mirrortest.New(t, registrytest.Options{})
	isc := s.Config("imageset.yaml", acmeStanza+"    packages:\n    - name: lantern\n    - name: tidewater\n"+netcheckStanza+"  - name: images.example.net/tools/must-gather:4.20\n")
	s.Mirrored(isc, s.Docker("site"))
	return s, listed(s, tidewaterStanza+netcheckStanza).File
}

// lists lists what a stanza selects of the mirror.
func lists(s *mirrortest.Site, stanza string, change ...func(*removal.DeletionListOptions)) (*removal.DeletionList, error) {
	config := s.Write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n"+stanza)
	o := removal.DeletionListOptions{Env: s.NewEnv(), Config: config, Mirror: s.Docker("site"), Workspace: s.Workspace()}
	for _, c := range change {
		c(&o)
	}
	return removal.ListDeletions(s.T.Context(), o)
}

// listed is lists, which must succeed.
func listed(s *mirrortest.Site, stanza string, change ...func(*removal.DeletionListOptions)) *removal.DeletionList {
	s.T.Helper()
	l, err := lists(s, stanza, change...)
	if err != nil {
		s.T.Fatal(err)
	}
	return l
}

// deletes runs Delete for a list.
func deletes(s *mirrortest.Site, list string, change ...func(*removal.DeleteOptions)) (*removal.DeleteResult, error) {
	o := removal.DeleteOptions{Env: s.NewEnv(), DeleteYAMLFile: list, Mirror: s.Docker("site"), Workspace: s.Workspace()}
	for _, c := range change {
		c(&o)
	}
	return removal.Delete(s.T.Context(), o)
}

// deleted is deletes, which must succeed.
func deleted(s *mirrortest.Site, list string, change ...func(*removal.DeleteOptions)) *removal.DeleteResult {
	s.T.Helper()
	r, err := deletes(s, list, change...)
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// list writes a list of oc mirror.
func list(s *mirrortest.Site, items ...string) string {
	return s.Write("list.yaml", "apiVersion: mirror.openshift.io/v2alpha1\nkind: DeleteImageList\nitems:\n"+strings.Join(items, ""))
}

// item is one in a list of oc mirror, for an image below PREFIX site.
func item(s *mirrortest.Site, source, image, kind string) string {
	return "- imageName: docker://" + source + "\n  imageReference: " + s.Docker("site/"+image) + "\n  type: " + kind + "\n"
}

func dryRun(o *removal.DeleteOptions) { o.DryRun = true }

// complete verifies the mirror with its configuration.
func complete(s *mirrortest.Site) {
	s.T.Helper()
	s.Verified(s.Path("imageset.yaml"), s.Docker("site"))
}

// TestDeleteOptions checks which options are refused.
func TestDeleteOptions(t *testing.T) {
	t.Parallel()
	const where = "docker://mirror.example.com/site"
	for want, o := range map[string]removal.DeleteOptions{
		"no list of images":                                   {Mirror: where},
		`"file:///disk" is not a mirror registry`:             {DeleteYAMLFile: "x", Mirror: "file:///disk"},
		`Options.ListMirror "other" is not a mirror registry`: {DeleteYAMLFile: "x", Mirror: where, ListMirror: "other"},
		"reading the list: open none.yaml":                    {DeleteYAMLFile: "none.yaml", Mirror: where, Workspace: t.TempDir()},
	} {
		_, err := removal.Delete(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, want)
	}
	for want, o := range map[string]removal.DeletionListOptions{
		"no configuration":                        {Mirror: where},
		`"file:///disk" is not a mirror registry`: {Config: "x", Mirror: "file:///disk"},
		`Options.Layout "x"`:                      {Config: "x", Mirror: where, Layout: "x"},
		`Options.DeleteID "a/b"`:                  {Config: "x", Mirror: where, DeleteID: "a/b"},
		`Options.DeleteID "a..b"`:                 {Config: "x", Mirror: where, DeleteID: "a..b"},
		"none.yaml":                               {Config: "none.yaml", Mirror: where},
	} {
		_, err := removal.ListDeletions(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, want)
	}
}

// TestDelete deletes what a list has, as a dry run says: the catalog is published without it, the records agree, and the
// next run with the old configuration brings it back.
func TestDelete(t *testing.T) {
	t.Parallel()
	s, list := deletable(t)
	content := func() []registrytest.Repository {
		all, err := s.Mirror.Repositories("site") // with the records
		fail.On(t, err)
		return all
	}
	before := content()
	dry := deleted(s, list, dryRun)
	fail.Diff(t, before, content())
	r := deleted(s, list)
	if !slices.Equal(r.ImageSets, []string{"imageset"}) || len(r.Catalogs) != 1 || r.Deleted == nil || r.Resources == nil {
		t.Errorf("%+v", r)
	}
	if !dry.DryRun || dry.Deleted != nil || dry.Plan.Empty() || dry.Plan.Totals != r.Plan.Totals || len(dry.Images) == 0 || !slices.Equal(dry.Images, r.Images) || !slices.Equal(dry.Catalogs, r.Catalogs) || !slices.Equal(dry.ImageSets, r.ImageSets) || !slices.Equal(dry.Stays, r.Stays) {
		t.Errorf("a dry run found\n%+v\nthen was deleted\n%+v", dry, r)
	}
	if again := deleted(s, list, dryRun); len(again.Images) > 0 || again.Plan == nil || !again.Plan.Empty() {
		t.Errorf("%+v", again)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	if s.Has("site", "tidewater") || s.Has("site", "netcheck") || !s.Has("site", "lantern") || !s.Has("site", "must-gather") {
		t.Errorf("the mirror has %q", s.Tags("site"))
	}
	s.Verified("", s.Docker("site"))
	if r := deleted(s, list); len(r.Absent) == 0 || len(r.Images)+len(r.Catalogs)+len(r.Stays) > 0 || r.Deleted != nil {
		t.Errorf("%+v", r)
	}
	// The earlier image of the catalog is left.
	p := pruned(s, yes).Plan
	for i := range p.Manifests {
		if !strings.Contains(p.Manifests[i].Repository, "operator-index") {
			t.Errorf("prune deletes %+v", p.Manifests[i])
		}
	}
	if len(p.Manifests) == 0 {
		t.Error("prune deletes nothing")
	}
	s.Verified("", s.Docker("site"))
	s.Mirrored(s.Path("imageset.yaml"), s.Docker("site"))
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	complete(s)
}

// TestDeleteLayout checks where the list is in the layout of oc mirror.
func TestDeleteLayout(t *testing.T) {
	t.Parallel()
	s, list := deletable(t)
	ocMirror := filepath.Join(s.Workspace(), "working-dir", "delete", "delete-images.yaml")
	if l := listed(s, netcheckStanza, func(o *removal.DeletionListOptions) { o.Layout = workspace.OCMirrorLayout }); l.File != ocMirror {
		t.Error(l.File)
	}
	if l := listed(s, netcheckStanza); l.File != list {
		t.Error(l.File)
	}
	s.Mirrored(s.Path("imageset.yaml"), s.Docker("site"), func(o *mirroring.Options) { o.Layout = workspace.OCMirrorLayout })
	l := listed(s, netcheckStanza, func(o *removal.DeletionListOptions) { o.DeleteID = "v4.19" })
	folder := filepath.Dir(ocMirror)
	if l.File != filepath.Join(folder, "delete-images-v4.19.yaml") || l.ConfigFile != filepath.Join(folder, "delete-imageset-config-v4.19.yaml") || len(l.Images) != 1 || l.Bytes == 0 {
		t.Errorf("%+v", l)
	}
}

// TestDeleteShared checks that content stays which another image set needs, or another catalog of the same one, while the
// catalog that loses it is published without it.
func TestDeleteShared(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t) // packages pkg/plan/deletion and pkg/mirror/prune test what stays, TestDelete the verb
	s := mirrortest.New(t, registrytest.Options{})
	const packages = "    packages:\n    - name: lantern\n    - name: tidewater\n"
	const copied = acmeStanza + "    targetCatalog: acme/copy\n"
	s.Mirrored(s.Config("imageset.yaml", acmeStanza+packages+strings.TrimPrefix(copied, "  operators:\n")+packages), s.Docker("site"))
	s.Mirrored(s.Config("edge.yaml", netcheckStanza), s.Docker("site"))
	l := listed(s, copied+"    packages:\n    - name: tidewater\n")
	if r := deleted(s, l.File); len(r.Catalogs) != 1 || !strings.Contains(r.Catalogs[0].Image, "acme/copy") || len(r.Images) > 0 {
		t.Errorf("%+v", r)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	s.VerifyCatalog("site", "acme/copy", 1)
	s.Verified("", s.Docker("site"))

	// The whole second catalog, and an image that the other image set needs.
	l = listed(s, copied)
	text, err := os.ReadFile(l.File)
	fail.On(t, err)
	more := s.Write("more.yaml", strings.Replace(string(text), "items:\n", "items:\n"+item(s, "images.example.net/tools/netcheck:1.4", "tools/netcheck:1.4", "generic"), 1))
	r := deleted(s, l.File)
	if len(r.Images) != 1 || !strings.Contains(r.Images[0], "acme/copy") || len(s.Tags("site/acme/copy")) > 0 {
		t.Errorf("%+v", r)
	}
	if r.Resources == nil || slices.ContainsFunc(r.Resources.Files, func(name string) bool { return strings.Contains(name, "copy") }) {
		t.Errorf("%+v", r.Resources)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	of := func(name string) func(*removal.DeleteOptions) {
		return func(o *removal.DeleteOptions) { o.Name = name }
	}
	if r := deleted(s, more, of("imageset")); len(r.Stays) != 1 || !strings.Contains(r.Stays[0].Reason, "the image set edge needs it") {
		t.Errorf("%+v", r)
	}
	_, err = deletes(s, more, of("other"))
	mirrortest.Refused(t, err, advice.Input, `no image set "other"`)
	s.Verified("", s.Docker("site"))
}

// TestDeleteOthers deletes images that no record lists, in a mirror without records too.
func TestDeleteOthers(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	one := s.PushMirror("site/foreign/one", "v1", "one")
	_, hash, _ := strings.Cut(one, "@")
	s.PushMirror("site/foreign/one", strings.Replace(hash, ":", "-", 1)+".sig", "signature")
	s.PushMirror("site/foreign/two", "v1", "two")
	s.PushMirror("site/foreign/two", "v2", "two")
	var items []string
	for _, name := range []string{"one:v1", "two:v1", "three:v1"} {
		items = append(items, item(s, "quay.io/foreign/"+name, "foreign/"+name, "generic"))
	}
	r := deleted(s, list(s, items...))
	if !r.NoRecords || len(r.Absent) != 1 || len(r.Stays) != 1 || !strings.Contains(r.Stays[0].Reason, "no record lists its tag v2") || s.Has("site", "foreign/one") || !s.Has("site", "foreign/two") {
		t.Errorf("%+v, %q", r, s.Tags("site"))
	}
	s.Mirrored(s.Operators("lantern"), s.Docker("site"))
	all := list(s, append(items, item(s, "quay.io/foreign/two:v2", "foreign/two:v2", "generic"))...)
	if r := deleted(s, all); r.NoRecords || r.Unrecorded != 1 || len(r.Images) != 2 || s.Has("site", "foreign/two") {
		t.Errorf("%+v", r)
	}
	s.Verified("", s.Docker("site"))

	// The list of another mirror.
	other := func(o *removal.DeleteOptions) { o.Mirror = s.Docker("other") }
	_, err := deletes(s, all, other)
	mirrortest.Refused(t, err, advice.Input, "is for another mirror", "set Options.ListMirror")
	if r := deleted(s, all, other, func(o *removal.DeleteOptions) { o.ListMirror = s.Docker("site") }); len(r.Absent) != 4 {
		t.Errorf("%+v", r)
	}
	_, err = deletes(s, s.Write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete: {}\n"))
	mirrortest.Refused(t, err, advice.Input, "the configuration and not the list")
}

// TestDeleteKept checks the result for a list with images that stay: it is partial if nothing that is listed explains it.
func TestDeleteKept(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s, _ := deletable(t)
	itemsOf := func(pkg string) map[plan.ImageKind]string {
		items := map[plan.ImageKind]string{}
		l := listed(s, acmeStanza+"    packages:\n    - name: "+pkg+"\n")
		for i := range l.Images {
			img := &l.Images[i]
			items[img.Kind] += "- imageName: docker://" + img.Source + "\n  imageReference: docker://" + img.Image + "\n  type: operatorRelatedImage\n"
		}
		return items
	}
	lantern, tidewater := itemsOf("lantern"), itemsOf("tidewater")
	if lantern[plan.RelatedImage] == "" || tidewater[plan.BundleImage] == "" {
		t.Fatalf("%q\n%q", lantern, tidewater)
	}
	before := s.Tags("site")

	// Operands of bundles that stay: nothing is deleted.
	needed := func(stay removal.StayingImage) bool {
		return strings.Contains(stay.Reason, "the image set imageset needs it: bundle lantern.")
	}
	for _, change := range [][]func(*removal.DeleteOptions){nil, {dryRun}} {
		r, err := deletes(s, list(s, lantern[plan.RelatedImage]), change...)
		mirrortest.Refused(t, err, advice.Partial, "stay", "list what needs")
		if r == nil || len(r.Images) > 0 || !slices.ContainsFunc(r.Stays, needed) {
			t.Fatalf("%+v", r)
		}
	}
	if after := s.Tags("site"); len(after) != len(before) {
		t.Errorf("%q, before %q", after, before)
	}
	// The same beside an image that is deleted.
	netcheck := item(s, "images.example.net/tools/netcheck:1.4", "tools/netcheck:1.4", "generic")
	r, err := deletes(s, list(s, netcheck, lantern[plan.RelatedImage]))
	mirrortest.Refused(t, err, advice.Partial)
	if len(r.Images) != 1 || len(r.Stays) == 0 || s.Has("site", "netcheck") {
		t.Errorf("%+v", r)
	}
	// A package with everything that it has, as oc mirror lists it, with the catalog: what stays there is explained.
	catalog := item(s, "registry.example.com/"+mirrortest.Acme+":v4.20", mirrortest.Acme+":v4.20", "operatorCatalog")
	items := list(s, catalog, tidewater[plan.BundleImage], tidewater[plan.RelatedImage])
	if r := deleted(s, items); len(r.Catalogs) != 1 || s.Has("site", "tidewater") || !s.Has("site", "lantern") {
		t.Errorf("%+v", r)
	}
	deleted(s, items) // again: what it has is gone
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	s.Verified("", s.Docker("site"))
}

// TestDeleteNested deletes with a limit of path components and by lists without what Gantry adds, and checks that nothing
// is deleted while a catalog stays that would name it.
func TestDeleteNested(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	s.Mirrored(s.Operators("lantern", "tidewater"), s.Docker("site"), func(o *mirroring.Options) { o.MaxNestedPaths = 2 })
	nestedList := func(o *removal.DeletionListOptions) { o.MaxNestedPaths = 2 }
	nested := func(o *removal.DeleteOptions) { o.MaxNestedPaths = 2 }
	l := listed(s, tidewaterStanza+"      bundles:\n      - name: tidewater.v1.2.0\n", nestedList)
	written, err := os.ReadFile(l.File)
	fail.On(t, err)
	text, _, _ := strings.Cut(string(written), "gantry:\n")
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  digest:") {
			plain.WriteString(line)
		}
	}
	if r := deleted(s, s.Write("plain.yaml", plain.String()), nested); len(r.Catalogs) != 1 || len(r.Images) == 0 {
		t.Errorf("%+v", r)
	}
	s.Verified("", s.Docker("site"), func(o *verify.Options) { o.MaxNestedPaths = 2 })
	if r := deleted(s, l.File, nested); len(r.Absent) == 0 || len(r.Images) > 0 {
		t.Errorf("%+v", r)
	}

	// Another tag of the catalog.
	l = listed(s, acmeStanza, nestedList)
	client := s.Mirror.Client()
	fail.On(t, client.Copy(t.Context(), client, "site/acme-operator-index", "v4.20", "site/acme-operator-index", "mine"))
	_, err = deletes(s, l.File, nested)
	mirrortest.Refused(t, err, advice.Failure, "nothing was deleted", "no record lists its tag mine")
	if !s.Has("site", "lantern") {
		t.Error("deleted what a catalog names")
	}
}
