package mirror

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestSampleFindsEveryLostBlob loses one blob after the other: runs with nothing new find each of
// them, with at most one request per image, and copy it again.
func TestSampleFindsEveryLostBlob(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 16)
	all := len(m.plan().Blobs)
	for _, b := range m.plan().Blobs {
		delete(registry.blobs, key("org/pinned", b.Digest))
		found := false
		for run := 0; run < all && !found; run++ {
			registry.calls = map[string]int{}
			rep := mustRun(t, m.plan(), m.source(), registry, Options{SampleBlobs: true, KnownTags: NewKnownTags(names, h)})
			*h = NewRecord(m.plan(), names, rep, h)
			found = !rep.UpToDate()
			requests := registry.calls["tags"] + registry.calls["has manifest"] + registry.calls["has blob"]
			if want := (&CheckedBlobs{Checked: registry.calls["has blob"], Unchecked: all - registry.calls["has blob"]}); !found && (requests > 16 || *rep.Blobs != *want || want.Checked == 0) {
				t.Fatalf("%d requests for 16 images; %+v, want %+v", requests, rep.Blobs, want)
			}
			if found && (rep.Blobs.Unchecked != 0 || rep.BlobsCopied != 1) {
				t.Errorf("after a lost blob was found: %+v, %+v", rep, rep.Blobs)
			}
		}
		if !found || !registry.blobs[key("org/pinned", b.Digest)] {
			t.Fatalf("%s was not found in %d runs", b.Digest, all)
		}
	}
}

// TestSampleThatIsRefused checks that blobs which cannot be requested count as unchecked.
func TestSampleThatIsRefused(t *testing.T) {
	m, registry, names, h := pinnedSample(t, 16)
	registry.fail = func(call, _ string, _ digest.Digest) error {
		if call == "has blob" {
			return fmt.Errorf("not now")
		}
		return nil
	}
	opts := Options{SampleBlobs: true, KnownTags: NewKnownTags(names, h)}
	rep := mustRun(t, m.plan(), m.source(), registry, opts)
	if want := (CheckedBlobs{Unchecked: len(m.plan().Blobs)}); *rep.Blobs != want || !rep.UpToDate() {
		t.Errorf("%+v, %+v, want %+v", rep, rep.Blobs, want)
	}
	opts.Fatal = func(error) bool { return true }
	if _, err := Run(t.Context(), m.plan(), m.source(), registry, opts); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("a fatal error: %v", err)
	}
}

// TestKeptDamageIsNamed checks the error for a registry that accepts a blob again and keeps its
// truncated copy, also if another image finds the copy.
func TestKeptDamageIsNamed(t *testing.T) {
	m := sample(t)
	cut := m.blob("a1")
	want := "the registry accepted blob " + cut.String() + " and kept its own copy, which is damaged: it has 1 byte; remove its file"
	file := "docker/registry/v2/blobs/sha256/" + cut.Encoded()[:2] + "/" + cut.Encoded() + "/data"
	for name, tc := range map[string]struct {
		opts Options
		lose func(*memoryRegistry)
	}{
		"checked":                  {Options{CheckBlobs: true}, func(*memoryRegistry) {}},
		"found for another reason": {Options{}, func(r *memoryRegistry) { delete(r.tags, "org/a:v1") }},
	} {
		registry := newMemoryRegistry()
		mustRun(t, m.plan(), m.source(), registry, Options{})
		tc.lose(registry)
		registry.fail = func(call, _ string, d digest.Digest) error {
			if call == "has blob" && d == cut {
				return &remote.Error{Op: call, Err: fmt.Errorf("it has 1 byte: %w", remote.ErrMismatch)}
			}
			return nil
		}
		rep := mustRun(t, m.plan(), m.source(), registry, tc.opts)
		if len(rep.Failed) != 1 || !strings.HasPrefix(rep.Failed[0].Reason, want) || !strings.Contains(rep.Failed[0].Reason, file) || rep.BlobsCopied != 0 {
			t.Errorf("%s: %s", name, cmp.Diff([]Failure(nil), rep.Failed))
		}
	}
}
