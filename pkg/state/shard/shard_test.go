package shard

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func result() *Result {
	return &Result{
		Name: "ocp", Plan: digest.FromString("plan"), Shard: "2/4", Images: 12, Failed: 1, Host: "builder", User: "ci",
		Ended: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestManifest(t *testing.T) {
	want := result()
	raw, err := want.Manifest()
	fail.On(t, err)
	got, err := Parse(raw)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Complete() {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for old, broken := range map[string]string{
		artifactType: "application/vnd.gantry.lease.v1", `"ocp"`: `""`, `"12"`: `"-1"`, `shard.failed":"1"`: `shard.failed":"x"`,
		want.Plan.String(): "sha256:00", "2026-01-02T03:04:05Z": "yesterday", `"ci"`: `"` + strings.Repeat("c", 300) + `"`, `"builder"`: `"\u001b[31m"`,
	} {
		text := strings.Replace(string(raw), old, broken, 1)
		if text == string(raw) {
			t.Fatalf("the manifest does not have %s", old)
		}
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse accepts %s in place of %s", broken, old)
		}
	}
}

// TestTag checks that results of different image sets and shards have different tags.
func TestTag(t *testing.T) {
	tags := map[string]bool{}
	for _, name := range []string{"ocp", "ocp.1-of-2", "a/b", "a b", strings.Repeat("x", 255)} {
		for _, of := range [][2]int{{1, 2}, {2, 2}, {1, 1000}, {1000, 1000}} {
			tag := Tag(name, of[0], of[1])
			if tags[tag] || len(tag) > 128 {
				t.Errorf("the tag %s of %s is used twice, or too long", tag, name)
			}
			tags[tag] = true
		}
	}
}

// FuzzParse checks that what Parse accepts is written and read back equal.
func FuzzParse(f *testing.F) {
	raw, err := result().Manifest()
	fail.On(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Parse(raw)
		if err != nil {
			return
		}
		again, err := r.Manifest()
		if err != nil {
			t.Skip(err) // a time with a year that has more digits
		}
		if got, err := Parse(again); err != nil || !got.Ended.Equal(r.Ended.Truncate(time.Second)) || got.Shard != r.Shard || got.Failed != r.Failed {
			t.Errorf("%+v became %+v (%v)", r, got, err)
		}
	})
}
