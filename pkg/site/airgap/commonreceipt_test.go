package airgap

import (
	"fmt"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestReceiptsOfSites writes one archive from the receipts of three sites that imported three, two and one disks. Each of
// them is complete after its import, and the archive omits only what all of them had.
func TestReceiptsOfSites(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(3)
	var sites []*importSite
	var receipts []string
	for i, disks := range []int{3, 1, 2} {
		f := &importSite{fixture: w, ws: w.workspace(fmt.Sprintf("site%d", i)), registry: newRegistry()}
		for month := 1; month <= disks; month++ {
			f.mustBring(w.month(month), fmt.Sprintf("disk%d", month))
		}
		file := w.path(fmt.Sprintf("site%d.json", i))
		_, err := f.bring(w.month(disks), ReceiptOptions{File: file}, fmt.Sprintf("disk%d", disks))
		fail.On(t, err)
		sites, receipts = append(sites, f), append(receipts, file)
	}
	got := w.must(w.month(4), "disk4", Since{Receipts: receipts}).Result()
	one := w.must(w.month(4), "alone", Since{Receipts: receipts[1:2]}).Result()
	if got.Sequence != 4 || got.BuildsOn != 1 || got.Bases != (BaseRange{Last: 1, Receipts: 3}) || got.Omitted == nil || got.Omitted.Blobs != one.Omitted.Blobs {
		t.Errorf("the archive of three sites is %+v, omitting %+v, and of the one with the least %+v", got, got.Omitted, one.Omitted)
	}
	for i, f := range sites {
		f.mustBring(w.month(4), "disk4")
		for desc := range mirror.Content(w.month(4)) {
			if !f.registry.holds(desc.Digest) {
				t.Errorf("site %d does not have %s", i, desc.Digest)
			}
		}
	}
}

// TestReceiptsWithoutCommonArchive checks that sites that imported different archives are refused one.
func TestReceiptsWithoutCommonArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	w.must(w.month(2), "full", Since{Full: true})
	var receipts []string
	for i, disk := range []string{"disk1", "full"} {
		f := &importSite{fixture: w, ws: w.workspace(fmt.Sprintf("site%d", i)), registry: newRegistry()}
		receipts = append(receipts, f.mustBring(w.month(i+1), disk))
	}
	_, err := w.write(w.ws, w.month(3), w.to("disk3", Since{Receipts: receipts}))
	refused(t, err, advice.Input, "the sites imported no archive in common", receipts[0]+", "+receipts[1], "Options.Full")
}

// TestCommonReceipt checks what two receipts have in common.
func TestCommonReceipt(t *testing.T) {
	d := func(name string) digest.Digest { return digest.FromString(name) }
	sorted := func(r *state.Receipt) *state.Receipt {
		for i := range r.Repositories {
			slices.SortFunc(r.Repositories[i].Images, func(a, b state.Image) int { return cmpText(a.Digest, b.Digest) })
			slices.SortFunc(r.Repositories[i].Blobs, func(a, b state.Blob) int { return cmpText(a.Digest, b.Digest) })
		}
		return r
	}
	a := sorted(&state.Receipt{
		Name: "ops", Plan: d("plan"), Sets: []state.SetRef{{Sequence: 1, Set: d("1")}, {Sequence: 2, Set: d("2")}, {Sequence: 3, Set: d("3")}},
		Reads: &state.ArchiveReader{Format: 3, Features: []string{"delta", "shards"}, Compressors: []string{"gzip", "zlib"}},
		Repositories: []state.Repository{
			{Name: "a", Images: []state.Image{{Digest: d("x"), Tags: []string{"v1", "v2"}}, {Digest: d("y")}}, Blobs: []state.Blob{{Digest: d("p"), Size: 1}, {Digest: d("q"), Size: 2}}},
			{Name: "b", Blobs: []state.Blob{{Digest: d("r"), Size: 3}}},
		},
	})
	b := sorted(&state.Receipt{
		Name: "ops", Plan: d("other plan"), Sets: []state.SetRef{{Sequence: 1, Set: d("1")}, {Sequence: 2, Set: d("2, written again")}},
		Reads: &state.ArchiveReader{Format: 2, Features: []string{"delta"}, Compressors: []string{"pigz", "zlib"}},
		Repositories: []state.Repository{
			{Name: "a", Images: []state.Image{{Digest: d("x"), Tags: []string{"v2", "v3"}}}, Blobs: []state.Blob{{Digest: d("p"), Size: 1}, {Digest: d("q"), Size: 20}, {Digest: d("r"), Size: 3}}},
		},
	})
	want := &state.Receipt{
		Name: "ops", Sets: []state.SetRef{{Sequence: 1, Set: d("1")}},
		Reads: &state.ArchiveReader{Format: 2, Features: []string{"delta"}, Compressors: []string{"zlib"}},
		Repositories: []state.Repository{
			{Name: "a", Images: []state.Image{{Digest: d("x"), Tags: []string{"v2"}}}, Blobs: []state.Blob{{Digest: d("p"), Size: 1}}},
		},
	}
	for _, got := range []*state.Receipt{commonReceipt(a, b), commonReceipt(b, a)} {
		fail.Diff(t, want, got)
	}
	fail.Diff(t, a, commonReceipt(a, a))
	b.Reads = nil
	if got := commonReceipt(a, b); got.Reads != nil {
		t.Errorf("a site that does not say what it reads: %+v", got.Reads)
	}
}

func cmpText(a, b digest.Digest) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
