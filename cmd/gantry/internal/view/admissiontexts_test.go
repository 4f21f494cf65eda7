package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// TestAdmissionTexts checks the text of what a run would take from clusters, or change of images.
func TestAdmissionTexts(t *testing.T) {
	replaced := as(func(all *[]admission.ReplacedCatalog) string { return Replaced(*all) })
	planned := as(func(p *plan.Plan) string {
		text, _, _ := strings.Cut(Plan(p, p.Notes, "", nil, nil, 0), "Images  ")
		return text
	})
	const images = `"images": [
		{"source": "a.io/x:1", "kind": "additional", "repository": "x", "tags": ["1"], "digest": "sha256:0123456789abcdef", "size": 5, "because": [{"list": "additionalImages"}], "rewrittenFrom": "sha256:aa"},
		{"source": "a.io/y@sha256:bb", "kind": "related", "repository": "y", "digest": "sha256:fedcba9876543210", "size": 5, "rewrittenFrom": "sha256:bb", "namedBy": "the bundle", "because": [{"catalog": "c", "package": "p", "bundle": "p.v1"}]},
		{"source": "a.io/z@sha256:cc", "kind": "related", "repository": "z", "digest": "sha256:cc", "size": 5, "notRewritten": "the bundle names it", "because": [{"release": "4.20.1"}, {"chart": "web 1"}, {"list": "operators"}, {"catalog": "c", "bundle": "q.v1"}]}]`
	checkRendered(t, []rendered{
		{"nothing is lost", `[{"catalog": "a/b:v1", "at": "m/a/b:v1", "before": "sha256:aa", "after": "sha256:bb"}]`, replaced, ""},
		{"catalogs that lose something", `[
			{"catalog": "a/b:v1", "at": "m/a/b:v1", "before": "sha256:aa", "after": "sha256:bb",
				"stranded": [{"package": "kite", "channel": "stable", "generations": ["OLM v1"], "bundles": ["kite.v1"], "outcome": "stranded", "why": "there is no upgrade path", "fixes": [{"message": "keep kite.v2"}]}],
				"older": [{"package": "kite", "channel": "beta", "before": "kite.v3", "after": "kite.v2"}]},
			{"catalog": "a/c:v1", "at": "sequence 1", "before": "sha256:aa", "after": "sha256:bb", "olderSource": {"before": "2026-02-01T00:00:00Z", "after": "2026-01-01T00:00:00Z"}},
			{"catalog": "a/d:v1", "at": "m/a/d:v1", "before": "sha256:aa", "after": "sha256:bb", "problem": "it has another form"}]`, replaced, `Catalogs that are replaced
  a/b:v1 at m/a/b:v1
    STRANDED: package kite, channel stable (OLM v1): kite.v1: there is no upgrade path
      to fix it: keep kite.v2
    OLDER: package kite, channel beta: the head goes back from kite.v3 to kite.v2
      to replace newer content by older: gantry mirror --allow-older
  a/c:v1 at sequence 1
    OLDER: the source of the catalog was created on 2026-01-01, before the one of the published catalog on 2026-02-01
      to replace newer content by older: gantry mirror --allow-older
  a/d:v1 at m/a/d:v1
    not compared: it has another form
`},
		{"smaller indexes", `{` + images + `}`, planned, `Additional images
  a.io/x:1  becomes x:1  5 B

Smaller indexes, with the selected platforms
  a.io/x:1  becomes sha256:0123456789ab
  a.io/y@sha256:bb  becomes sha256:fedcba987654

Not rewritten, so mirrored with all platforms: the bundle names it
  a.io/z@sha256:cc
      required by release 4.20.1, chart web 1, mirror.operators and 1 more

`},
		{"converted images", `{"format": "docker", ` + images + `}`, planned, `Additional images
  a.io/x:1  becomes x:1  5 B

Converted to the media types of Docker
  a.io/x:1  becomes sha256:0123456789ab

Converted to the media types of Docker, but clusters do not find them, because they request the digests of the originals (named by the bundle)
  a.io/y@sha256:bb  becomes sha256:fedcba987654
      required by p.v1

Not rewritten, so mirrored with all platforms: the bundle names it
  a.io/z@sha256:cc
      required by release 4.20.1, chart web 1, mirror.operators and 1 more

`},
	})
}

// TestDeltaTexts checks what is printed of deltas, and of repairs and shards.
func TestDeltaTexts(t *testing.T) {
	deltas := as(func(r *airgap.DeltaResult) string {
		var b strings.Builder
		writeDeltas(&b, &airgap.ExportResult{Deltas: r})
		return b.String()
	})
	next := as(func(r *mirroring.Result) string {
		var b strings.Builder
		writeNextSteps(&b, r)
		return b.String()
	})
	checkRendered(t, []rendered{
		{"no deltas", `{"blobs": 0, "blobBytes": 0, "bytes": 0, "refused": "the receipt is of an earlier version"}`, deltas, "No deltas: the receipt is of an earlier version.\n"},
		{"deltas", `{"blobs": 2, "blobBytes": 2048, "bytes": 100, "siteUnknown": true, "version": "v1.2.0", "whole": {"no base": {"blobs": 9, "bytes": 9}, "compression": {"blobs": 1, "bytes": 10}, "saves little": {"blobs": 2, "bytes": 20}}}`, deltas,
			`2 blobs of 2.0 KiB are carried as deltas of 100 B.
Carried whole: 1 blob (10 B) whose compression cannot be reproduced, 2 blobs (20 B) that a delta would make little smaller.
The site needs a Gantry that reads deltas: version v1.2.0, which --with-gantry adds, or a later one. With --delta off, any version is enough.
`},
		{"a complete shard", `{"report": {}, "shard": {"name": "ops", "plan": "sha256:aa", "shard": "2/4", "images": 3, "failed": 0, "ended": "2026-01-01T00:00:00Z"}}`, next,
			"Shard 2/4 is complete. Nothing is published yet; when all 4 are, run this command once with --finish 4 in place of --shard.\n"},
		{"an incomplete shard", `{"report": {}, "shard": {"name": "ops", "plan": "sha256:aa", "shard": "2/4", "images": 3, "failed": 1, "ended": "2026-01-01T00:00:00Z"}}`, next, "Shard 2/4 is not complete: 1 image could not be copied. Run it again.\n"},
		{"a repair", `{"sequence": 2, "content": 1, "bytes": 2048}`, as(func(r *airgap.Repaired) string { return (&Repair{Destination: "file:///r", Repaired: r}).Text() }),
			"Repair of sequence 2 at file:///r: 1 manifest or blob, 2.0 KiB.\nCarry it to the site and name its folder beside the one of the archive: --from file://DIR --from file://REPAIR.\n"},
	})
}
