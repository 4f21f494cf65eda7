package state

import (
	"bytes"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func sampleRequest() *RepairRequest {
	r := &RepairRequest{
		Name: "imageset", SetRef: SetRef{Sequence: 3, Set: digest.FromString("set")}, Plan: digest.FromString("plan"),
		Content: []LostContent{
			{Digest: digest.FromString("a"), Size: 10, Sources: []string{"quay.io/org/x:v1"}},
			{Digest: digest.FromString("b"), Size: 20, MediaType: "application/vnd.oci.image.manifest.v1+json", Sources: []string{"quay.io/org/x:v1", "quay.io/org/y:v1"}},
		},
	}
	if r.Content[0].Digest > r.Content[1].Digest {
		r.Content[0], r.Content[1] = r.Content[1], r.Content[0]
	}
	return r
}

func requestText(t testing.TB, r *RepairRequest) string {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, r.Write(&b))
	return b.String()
}

func TestRepairRequestWriteAndReadRepairRequest(t *testing.T) {
	want := sampleRequest()
	got, err := ReadRepairRequest(strings.NewReader(requestText(t, want)))
	fail.On(t, err)
	fail.Diff(t, want, got)
	only := &RepairRequest{Name: "x", SetRef: SetRef{Sequence: 1, Set: want.Set}, Plan: want.Plan, PlanLost: true}
	if got, err := ReadRepairRequest(strings.NewReader(requestText(t, only))); err != nil || !got.PlanLost || len(got.Content) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRepairRequestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		alter func(*RepairRequest)
		want  string
	}{
		"set":        {func(r *RepairRequest) { r.Set = "sha256:00" }, "sha256:00"},
		"plan":       {func(r *RepairRequest) { r.Plan = "" }, "digest"},
		"name":       {func(r *RepairRequest) { r.Name = "../x" }, "name"},
		"sequence":   {func(r *RepairRequest) { r.Sequence = 0 }, "sequence 0"},
		"nothing":    {func(r *RepairRequest) { r.Content = nil }, "requests nothing"},
		"order":      {func(r *RepairRequest) { r.Content[1] = r.Content[0] }, "does not come after"},
		"size":       {func(r *RepairRequest) { r.Content[0].Size = -1 }, "-1 bytes"},
		"media type": {func(r *RepairRequest) { r.Content[0].MediaType = "text/plain" }, "text/plain"},
		"no source":  {func(r *RepairRequest) { r.Content[0].Sources = nil }, "0 sources"},
	} {
		r := sampleRequest()
		tc.alter(r)
		if err := r.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := requestText(t, sampleRequest())
	for name, bad := range map[string]string{
		"kind":          strings.Replace(good, "GantryRepairRequest", "GantryReceipt", 1),
		"version":       strings.Replace(good, `"version": 1`, `"version": 2`, 1),
		"unknown field": strings.Replace(good, `"version": 1`, `"version": 1, "more": 2`, 1),
		"two":           good + "{}",
		"truncated":     good[:len(good)/2],
	} {
		if _, err := ReadRepairRequest(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// FuzzReadRepairRequest: an accepted request is written and read back equal.
func FuzzReadRepairRequest(f *testing.F) {
	f.Add(requestText(f, sampleRequest()))
	f.Add(`{"kind":"GantryRepairRequest","version":1}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ReadRepairRequest(strings.NewReader(in))
		if err != nil {
			return
		}
		again, err := ReadRepairRequest(strings.NewReader(requestText(t, r)))
		fail.On(t, err)
		fail.Diff(t, r, again)
	})
}
