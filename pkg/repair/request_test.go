package repair

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
)

func request() *Request {
	r := &Request{
		Name: "imageset", Sequence: 3, Set: digest.FromString("set"), Plan: digest.FromString("plan"),
		Content: []Content{
			{Digest: digest.FromString("a"), Size: 10, Sources: []string{"quay.io/org/x:v1"}},
			{Digest: digest.FromString("b"), Size: 20, MediaType: "application/vnd.oci.image.manifest.v1+json", Sources: []string{"quay.io/org/x:v1", "quay.io/org/y:v1"}},
		},
	}
	if r.Content[0].Digest > r.Content[1].Digest {
		r.Content[0], r.Content[1] = r.Content[1], r.Content[0]
	}
	return r
}

func text(t testing.TB, r *Request) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrittenIsRead(t *testing.T) {
	want := request()
	got, err := Read(strings.NewReader(text(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	only := &Request{Name: "x", Sequence: 1, Set: want.Set, Plan: want.Plan, PlanLost: true}
	if got, err := Read(strings.NewReader(text(t, only))); err != nil || !got.PlanLost || len(got.Content) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		alter func(*Request)
		want  string
	}{
		"set":        {func(r *Request) { r.Set = "sha256:00" }, "sha256:00"},
		"plan":       {func(r *Request) { r.Plan = "" }, "digest"},
		"name":       {func(r *Request) { r.Name = "../x" }, "name"},
		"sequence":   {func(r *Request) { r.Sequence = 0 }, "sequence 0"},
		"nothing":    {func(r *Request) { r.Content = nil }, "asks for nothing"},
		"order":      {func(r *Request) { r.Content[1] = r.Content[0] }, "does not come after"},
		"size":       {func(r *Request) { r.Content[0].Size = -1 }, "-1 bytes"},
		"media type": {func(r *Request) { r.Content[0].MediaType = "text/plain" }, "text/plain"},
		"no source":  {func(r *Request) { r.Content[0].Sources = nil }, "0 sources"},
	} {
		r := request()
		tc.alter(r)
		if err := r.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := text(t, request())
	for name, bad := range map[string]string{
		"kind":          strings.Replace(good, "GantryRepairRequest", "GantryReceipt", 1),
		"version":       strings.Replace(good, `"version": 1`, `"version": 2`, 1),
		"unknown field": strings.Replace(good, `"version": 1`, `"version": 1, "more": 2`, 1),
		"two":           good + "{}",
		"truncated":     good[:len(good)/2],
	} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// FuzzRead holds that what is accepted is written and read back equal.
func FuzzRead(f *testing.F) {
	f.Add(text(f, request()))
	f.Add(`{"kind":"GantryRepairRequest","version":1}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := Read(strings.NewReader(in))
		if err != nil {
			return
		}
		again, err := Read(strings.NewReader(text(t, r)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Error(diff)
		}
	})
}
