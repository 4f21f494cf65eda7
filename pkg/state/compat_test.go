package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// compat has files that version 0 wrote; see the README there.
const compat = "../../testdata/compat/v0/"

const compatMirror = "127.0.0.1-5000"

// openCompat opens a copy of a workspace of version 0.
func openCompat(t *testing.T, name string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	fail.On(t, os.CopyFS(dir, os.DirFS(compat+name)))
	return open(t, dir)
}

func TestWorkspaceOfVersion0(t *testing.T) {
	w := openCompat(t, "workspace")
	records, err := w.Records(compatMirror)
	fail.On(t, err)
	r := records["imageset"]
	if len(r.Images) != 3 || len(r.Catalogs) != 1 || len(r.Selections) != 1 || r.Runs != 1 {
		t.Errorf("the record has %d images, %d catalogs, %d selections and %d runs", len(r.Images), len(r.Catalogs), len(r.Selections), r.Runs)
	}
	want := []resources.CatalogName{{Source: "registry.example.com/acme/index:v4.20", Place: "127.0.0.1:5000/acme/index:v4.20", Name: "index-v4-20-3005cc4e"}}
	fail.Diff(t, want, r.Names)
	fail.On(t, w.SaveRecord(compatMirror, "other", &Record{Names: want}))
	if names, err := CatalogNames(w.dir); err != nil || !cmp.Equal(want, names) {
		t.Errorf("without locking: %v, %v", names, err)
	}
	exports, err := w.Exports("imageset")
	if err != nil || len(exports) != 2 {
		t.Fatalf("exports %v, %v", exports, err)
	}
	for i, e := range exports {
		if e.Sequence != i+1 || e.Set.Validate() != nil || e.Full != (i == 0) || e.Date.IsZero() || e.Dir == "" {
			t.Errorf("export %d is %+v", i, e)
		}
		f, err := w.OpenExportReceipt("imageset", e.Sequence)
		fail.On(t, err)
		receipt, err := ReadReceipt(f)
		if err != nil || len(receipt.Repositories) == 0 {
			t.Errorf("the receipt of sequence %d is %+v, %v", e.Sequence, receipt, err)
		}
		fail.On(t, f.Close())
	}
	if path, err := w.Configuration("imageset"); path != "/compat/imageset.yaml" || err != nil {
		t.Errorf("the configuration is %q, %v", path, err)
	}
	catalogs, err := filepath.Glob(filepath.Join(w.CacheDir(), "catalogs", "*"))
	if err != nil || len(catalogs) == 0 {
		t.Errorf("snapshots %v, %v", catalogs, err)
	}
}

func TestInterruptedWorkspaceOfVersion0(t *testing.T) {
	w := openCompat(t, "interrupted-workspace")
	j, err := w.Journal(compatMirror)
	fail.On(t, err)
	if len(j.copied) == 0 || !j.Has("acme/index", digest.Digest("sha256:1707737283e303ea262d8c8e0db40fc517ec387b9b5c253d7c7876e6cf84e23e")) {
		t.Errorf("the journal has %v", j.copied)
	}
	u, err := w.Uploads(compatMirror)
	fail.On(t, err)
	if open := u.Pending(); len(open) == 0 || open[0].Repository != "127.0.0.1:5000/extra" {
		t.Errorf("open uploads %v", open)
	}
}

func TestDocumentsOfVersion0(t *testing.T) {
	f, err := os.Open(compat + "receipt.json")
	fail.On(t, err)
	defer f.Close()
	receipt, err := ReadReceipt(f)
	if err != nil || len(receipt.Sets) != 1 || receipt.Sets[0].Sequence != 1 || receipt.Plan == "" {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
	text, err := os.ReadFile(compat + "receipt.json")
	if err != nil || receiptText(t, receipt) != string(text) {
		t.Errorf("the receipt is written as\n%s\nnot as\n%s", receiptText(t, receipt), text)
	}
	g, err := os.Open(compat + "repair-request.json")
	fail.On(t, err)
	defer g.Close()
	request, err := ReadRepairRequest(g)
	if err != nil || request.Sequence != 1 || request.Set == "" || len(request.Content) != 1 || request.Content[0].Size != 461 {
		t.Errorf("the request is %+v, %v", request, err)
	}
	text, err = os.ReadFile(compat + "repair-request.json")
	if err != nil || requestText(t, request) != string(text) {
		t.Errorf("the request is written as\n%s\nnot as\n%s", requestText(t, request), text)
	}
}
