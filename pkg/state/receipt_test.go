package state

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func sampleReceipt() *Receipt {
	blobs := []Blob{{digest.FromString("1"), 10}, {digest.FromString("2"), 0}}
	slices.SortFunc(blobs, func(a, b Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return &Receipt{
		Name: "imageset", Plan: digest.FromString("plan"),
		Sets: []SetRef{{1, digest.FromString("one")}, {3, digest.FromString("three")}},
		Repositories: []Repository{
			{Name: "a/b", Images: []Image{{digest.FromString("x"), []string{"v1", "v2"}}}, Blobs: blobs},
			{Name: "c", Images: []Image{{Digest: digest.FromString("x")}}},
		},
	}
}

func receiptText(t testing.TB, r *Receipt) string {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, r.Write(&b))
	return b.String()
}

func TestReceiptWriteAndReadReceipt(t *testing.T) {
	for _, want := range []*Receipt{sampleReceipt(), {Name: "empty"}} {
		first := receiptText(t, want)
		got, err := ReadReceipt(strings.NewReader(first))
		fail.On(t, err)
		fail.Diff(t, want, got)
		fail.Diff(t, first, receiptText(t, got))
	}
}

func TestReceiptRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		alter func(*Receipt)
		want  string
	}{
		"name":            {func(r *Receipt) { r.Name = "../x" }, "name"},
		"plan":            {func(r *Receipt) { r.Plan = "sha256:1" }, "plan"},
		"sequence order":  {func(r *Receipt) { r.Sets[1].Sequence = 1 }, "sequence 1 after 1"},
		"set digest":      {func(r *Receipt) { r.Sets[0].Set = "md5:00" }, "sequence 1"},
		"repository":      {func(r *Receipt) { r.Repositories[0].Name = "A/../b" }, "repository"},
		"two of one name": {func(r *Receipt) { r.Repositories[1].Name = "a/b" }, "does not come after"},
		"tag order":       {func(r *Receipt) { r.Repositories[0].Images[0].Tags = []string{"b", "a"} }, "tag"},
		"size":            {func(r *Receipt) { r.Repositories[0].Blobs[0].Size = -1 }, "-1 bytes"},
		"a blob twice":    {func(r *Receipt) { r.Repositories[1].Blobs = r.Repositories[0].Blobs[:1] }, "named once"},
	} {
		r := sampleReceipt()
		tc.alter(r)
		if err := r.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := receiptText(t, sampleReceipt())
	for name, bad := range map[string]string{
		"kind":          strings.Replace(good, receiptKind, "GantryRepairRequest", 1),
		"version":       strings.Replace(good, `"version":1`, `"version":2`, 1),
		"unknown field": strings.Replace(good, `"version":1`, `"version":1,"more":1`, 1),
		"two":           good + "{}",
		"truncated":     good[:len(good)/2],
		"empty":         "",
	} {
		if _, err := ReadReceipt(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestReceiptAddSet(t *testing.T) {
	r := sampleReceipt()
	two, other := SetRef{2, digest.FromString("two")}, SetRef{1, digest.FromString("other")}
	if r.Imported(two) || !r.Imported(r.Sets[0]) {
		t.Error("Imported is wrong")
	}
	old := r.Sets[0]
	r.AddSet(two)
	r.AddSet(other)
	if !r.Imported(two) || !r.Imported(other) || r.Imported(old) || len(r.Sets) != 3 {
		t.Errorf("sets %v", r.Sets)
	}
	receiptText(t, r) // in order
}

// FuzzReadReceipt holds that what is accepted is written and read back equal.
func FuzzReadReceipt(f *testing.F) {
	f.Add(receiptText(f, sampleReceipt()))
	f.Add(receiptText(f, &Receipt{Name: "x"}))
	f.Add(`{"kind":"GantryReceipt","version":1,"sets":[{"sequence":1}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ReadReceipt(strings.NewReader(in))
		if err != nil {
			return
		}
		first := receiptText(t, r)
		again, err := ReadReceipt(strings.NewReader(first))
		fail.On(t, err)
		fail.Diff(t, first, receiptText(t, again))
	})
}
