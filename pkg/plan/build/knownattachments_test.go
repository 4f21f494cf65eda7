package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A signedHistory is an image of two platforms with signatures and attestations of all manifests, and the
// plans that are made of it one after another.
type signedHistory struct {
	*signedFixture
	index       ocispec.Descriptor
	first, next digest.Digest // of the platforms
	last        *plan.Plan
	saved       time.Time // when last was saved
	now         time.Time
	more        string // of the configuration
}

func newSignedHistory(t *testing.T) *signedHistory {
	w := &signedHistory{signedFixture: newSignedFixture(t, true), saved: time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)}
	w.now = w.saved
	w.index = w.signedFixture.index("amd64", "arm64")
	w.push(signedRepo+":v1", w.index)
	var m ocispec.Index
	fail.On(t, json.Unmarshal(w.blobs[w.index.Digest], &m))
	w.first, w.next = m.Manifests[0].Digest, m.Manifests[1].Digest
	for _, d := range []digest.Digest{w.index.Digest, w.first, w.next} {
		w.sign(signedRepo, d, ".sig")
		w.sign(signedRepo, d, ".att")
	}
	return w
}

// resign moves a tag, and returns what it names now.
func (w *signedHistory) resign(subject digest.Digest, ending string) digest.Digest {
	desc := w.image("again " + subject.String() + ending)
	w.push(tagName(signedRepo, subject, ending), desc)
	return desc.Digest
}

// run makes the next plan, and returns how many tags of signatures were requested. With every, the last plan is not
// used.
func (w *signedHistory) run(every bool) int {
	w.t.Helper()
	earlier := func() (*plan.Plan, time.Time) { return w.last, w.saved }
	if every {
		earlier = nil
	}
	clear(w.requests)
	w.last = w.plan("  additionalImages: [{name: '"+signedRepo+":v1'}]\n"+w.more, Options{Now: w.now, Earlier: earlier})
	if len(w.last.Missing) > 0 {
		w.t.Fatalf("missing: %v", w.last.Missing)
	}
	return w.requests["named"]
}

// TestKnownAttachments counts the tags of signatures that a second plan requests. Each plan is the one that a
// plan without an earlier one is, byte for byte, unless a tag moved that is not looked at.
func TestKnownAttachments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(w *signedHistory)
		every  bool
		want   int
		stale  bool
	}{
		{name: "unchanged", want: 1},
		{name: "unchanged, every tag", every: true, want: 6},
		{name: "the root is signed again", change: func(w *signedHistory) { w.resign(w.index.Digest, ".sig") }, want: 6},
		{name: "everything is signed again", change: func(w *signedHistory) {
			for _, d := range []digest.Digest{w.index.Digest, w.first, w.next} {
				w.resign(d, ".sig")
			}
		}, want: 6},
		{name: "a platform is signed again", change: func(w *signedHistory) { w.resign(w.next, ".sig") }, want: 1, stale: true},
		{name: "a platform is signed again, every tag", change: func(w *signedHistory) { w.resign(w.next, ".sig") }, every: true, want: 6},
		{name: "a platform is signed again a week ago", change: func(w *signedHistory) {
			w.resign(w.next, ".sig")
			w.now = w.saved.AddDate(0, 0, rereadDays)
		}, want: 6},
		{name: "a new tag", change: func(w *signedHistory) { w.sign(signedRepo, w.first, ".sbom") }, want: 7},
		{name: "a tag of another image", change: func(w *signedHistory) { w.sign(signedRepo, digest.FromString("another"), ".sig") }, want: 1},
		{name: "a removed tag", change: func(w *signedHistory) { delete(w.tags, tagName(signedRepo, w.next, ".att")) }, want: 5},
		{name: "the root is no longer signed", change: func(w *signedHistory) { delete(w.tags, tagName(signedRepo, w.index.Digest, ".sig")) }, want: 5},
		{name: "another image", change: func(w *signedHistory) {
			w.push(signedRepo+":v1", w.signedFixture.index("amd64", "arm64", "s390x"))
		}, want: 4},
		{name: "a manifest that is gone", change: func(w *signedHistory) {
			old := w.tags[tagName(signedRepo, w.next, ".sig")]
			w.resign(w.next, ".sig")
			delete(w.repos[signedRepo], old)
		}, want: 2},
		{name: "a plan of another configuration", change: func(w *signedHistory) { w.last = &plan.Plan{} }, want: 6},
		{name: "blocked before and now", change: func(w *signedHistory) {
			w.more = "  blockedImages: [{name: '\\.att$'}]\n"
			w.run(true)
		}, want: 4},
		{name: "a signed bill of materials", change: func(w *signedHistory) {
			w.sign(signedRepo, w.sign(signedRepo, w.first, ".sbom").Digest, ".sig")
			w.run(true)
		}, want: 1},
		{name: "a new signature of a bill of materials", change: func(w *signedHistory) {
			sbom := w.sign(signedRepo, w.first, ".sbom")
			w.run(true)
			w.sign(signedRepo, sbom.Digest, ".sig")
		}, want: 8},
		{name: "no list of tags", change: func(w *signedHistory) { w.tagError = errors.ErrUnsupported }, want: 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newSignedHistory(t)
			if n := w.run(false); n != 6 || len(attached(w.last)) != 6 {
				t.Fatalf("the first plan requests %d tags and has %v", n, attached(w.last))
			}
			if tc.change != nil {
				tc.change(w)
			}
			fail.Diff(t, tc.want, w.run(tc.every))
			second := jsonOf(t, w.last)
			w.run(true)
			fail.Diff(t, tc.stale, !bytes.Equal(second, jsonOf(t, w.last)))
		})
	}
}

// TestKnownAttachmentsInTurn checks that an image whose index has no signature of its own gets each of its
// tags requested in some run.
func TestKnownAttachmentsInTurn(t *testing.T) {
	t.Parallel()
	w := newSignedHistory(t)
	delete(w.tags, tagName(signedRepo, w.index.Digest, ".sig"))
	w.run(false)
	moved := w.resign(w.next, ".att")
	for i := range 200 {
		w.now = w.saved.Add(time.Duration(i) * time.Minute)
		n := w.run(false)
		found := slices.ContainsFunc(w.last.Images, func(img plan.Image) bool { return img.Digest == moved })
		switch {
		case found && n != 5, !found && n != 1:
			t.Fatalf("run %d requests %d tags; found: %t", i, n, found)
		case found:
			return
		}
	}
	t.Error("the new attestation was not found")
}

// TestKnownAttachmentsOfSharedPlatforms checks that a platform of two indexes is requested again if the
// signature of either index moved.
func TestKnownAttachmentsOfSharedPlatforms(t *testing.T) {
	t.Parallel()
	w := newSignedHistory(t)
	other := w.signedFixture.index("amd64", "arm64", "s390x")
	w.push(signedRepo+":v2", other)
	w.sign(signedRepo, other.Digest, ".sig")
	w.more = "  - name: " + signedRepo + ":v2\n"
	text := "  additionalImages:\n  - name: " + signedRepo + ":v1\n" + w.more
	of := func(earlier *plan.Plan) *plan.Plan {
		clear(w.requests)
		return w.plan(text, Options{Now: w.saved, Earlier: func() (*plan.Plan, time.Time) { return earlier, w.saved }})
	}
	p := of(nil)
	if all := attached(p); len(all) != 7 {
		t.Fatalf("%v", all)
	}
	of(p)
	fail.Diff(t, 2, w.requests["named"])
	for _, d := range []digest.Digest{w.index.Digest, other.Digest} {
		w.resign(d, ".sig")
		moved := w.resign(w.first, ".sig")
		q := of(p)
		if !slices.ContainsFunc(q.Images, func(img plan.Image) bool { return img.Digest == moved }) {
			t.Errorf("the signature of a platform is the old one; %d requests", w.requests["named"])
		}
		w.sign(signedRepo, d, ".sig")
		w.sign(signedRepo, w.first, ".sig")
	}
}
