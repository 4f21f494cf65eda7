package receipt

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
)

func sample() *Receipt {
	blobs := []Blob{{digest.FromString("1"), 10}, {digest.FromString("2"), 0}}
	slices.SortFunc(blobs, func(a, b Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return &Receipt{
		Name: "imageset", Plan: digest.FromString("plan"),
		Sets: []Set{{1, digest.FromString("one")}, {3, digest.FromString("three")}},
		Repositories: []Repository{
			{Name: "a/b", Images: []Image{{digest.FromString("x"), []string{"v1", "v2"}}}, Blobs: blobs},
			{Name: "c", Images: []Image{{Digest: digest.FromString("x")}}},
		},
	}
}

func text(t testing.TB, r *Receipt) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrittenIsRead(t *testing.T) {
	for _, want := range []*Receipt{sample(), {Name: "empty"}} {
		first := text(t, want)
		got, err := Read(strings.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if again := text(t, got); again != first {
			t.Errorf("written again it is\n%s\nnot\n%s", again, first)
		}
	}
}

func TestRefused(t *testing.T) {
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
		r := sample()
		tc.alter(r)
		if err := r.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := text(t, sample())
	for name, bad := range map[string]string{
		"kind":          strings.Replace(good, kind, "GantryRepairRequest", 1),
		"version":       strings.Replace(good, `"version":1`, `"version":2`, 1),
		"unknown field": strings.Replace(good, `"version":1`, `"version":1,"more":1`, 1),
		"two":           good + "{}",
		"truncated":     good[:len(good)/2],
		"empty":         "",
	} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestEnter(t *testing.T) {
	r := sample()
	two, other := Set{2, digest.FromString("two")}, Set{1, digest.FromString("other")}
	if r.Imported(two) || !r.Imported(r.Sets[0]) {
		t.Error("what was imported is not told")
	}
	old := r.Sets[0]
	r.Enter(two)
	r.Enter(other)
	if !r.Imported(two) || !r.Imported(other) || r.Imported(old) || len(r.Sets) != 3 {
		t.Errorf("sets %v", r.Sets)
	}
	text(t, r) // in order
}

// FuzzRead holds that what is accepted is written and read back equal.
func FuzzRead(f *testing.F) {
	f.Add(text(f, sample()))
	f.Add(text(f, &Receipt{Name: "x"}))
	f.Add(`{"kind":"GantryReceipt","version":1,"sets":[{"sequence":1}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := Read(strings.NewReader(in))
		if err != nil {
			return
		}
		first := text(t, r)
		again, err := Read(strings.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, text(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}
