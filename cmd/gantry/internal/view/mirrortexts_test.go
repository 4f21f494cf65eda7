package view

import (
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestVerifiedTexts checks the text of what a verification of a mirror found.
func TestVerifiedTexts(t *testing.T) {
	missing := as(func(r *verify.VerifiedRegistry) string {
		r.Names = map[string]reference.Reference{"a/b": {Host: "m", Path: "site/a/b"}, "a/c": {Host: "m", Path: "site/a/c"}}
		return VerifiedRegistry(r)
	})
	checkRendered(t, []rendered{
		{"all is there", `{"destination": "docker://m/site", "images": 3, "lacking": [], "blobs": "read", "imageSets": [{"name": "ops", "revision": 2, "turn": 2, "lastRun": "2026-11-28T14:00:00Z", "images": 1, "missing": 1}],
			"resources": {"dir": "/w", "files": 2, "problems": [], "unchecked": [{"file": "idms.yaml", "image": "quay.io/a", "problem": "access denied"}]}}`, as(VerifiedRegistry), `All 3 images are at docker://m/site, and every manifest and blob was read and matches its digest.
Image set ops, revision 2 of 2026-11-28 14:00 UTC: 1 image, 1 missing or incomplete.
The 2 cluster resources in /w lead to content of the mirror.
Not checked
  idms.yaml, quay.io/a
      access denied
`},
		{"only manifests", `{"destination": "docker://m/site", "images": 1, "lacking": [], "blobs": "not-checked"}`, as(VerifiedRegistry), `The image is at docker://m/site; its blobs were not checked (--blobs).
The workspace has no cluster resources of this mirror, so none were verified (--resources).
`},
		{"blobs are there", `{"destination": "docker://m/site", "images": 3, "lacking": [], "blobs": "present", "resources": {"dir": "/w", "files": 2, "problems": [{"file": "idms.yaml", "object": "IDMS a", "image": "quay.io/a", "problem": "no mirror"}]}}`, as(VerifiedRegistry), `All 3 images are at docker://m/site, with every blob; the blobs were not read (--blobs=read).
Problems in the cluster resources in /w
  idms.yaml, IDMS a, quay.io/a
      no mirror
`},
		{"images are missing", `{"destination": "docker://m/site", "images": 3, "blobs": "not-checked", "refused": [{"source": "quay.io/a/x:v1", "reason": "it is not signed"}],
			"lacking": [{"source": "quay.io/a/b:v1", "digest": "sha256:aa", "repository": "a/b", "tags": ["v1", "v2"], "problem": "it is missing", "because": [{"catalog": "quay.io/i:v1", "package": "kite", "bundle": "kite.v1", "name": "x"}]},
				{"source": "quay.io/a/c@sha256:bb", "digest": "sha256:bb", "repository": "a/c", "problem": "a blob is missing"}, {"source": "quay.io/a/d:v1", "problem": "missing at the source"}]}`, missing, `Missing at docker://m/site
  quay.io/a/b:v1
      as m/site/a/b:v1, v2
      it is missing
      needed by kite.v1
  quay.io/a/c@sha256:bb
      as m/site/a/c@sha256:bb
      a blob is missing
  quay.io/a/d:v1
      missing at the source
Refused by the signature policy
  quay.io/a/x:v1
      it is not signed
The workspace has no cluster resources of this mirror, so none were verified (--resources).
`},
	})
}

// TestMirrorTexts checks the text of what a mirror has, and what was deleted of it.
func TestMirrorTexts(t *testing.T) {
	state := as(func(s *report.MirrorState) string { return MirrorState(s, 0) })
	audited := as(func(a *workspace.AuditResult) string { return Audit(a, 0) })
	deleted := as(func(r *removal.DeleteResult) string { return DeletedList(r, "leave out --dry-run") })
	listed := as(func(l *removal.DeletionList) string { return DeletionList(l, "gantry prune --list") })
	checkRendered(t, []rendered{
		{"no image sets", `{"mirror": "docker://m/site", "imageSets": []}`, state, "docker://m/site has no records of image sets. The next run of each configuration writes them.\n"},
		{"image sets", `{"mirror": "docker://m/site", "imageSets": [
			{"name": "ops", "revision": 2, "runs": 5, "lastRun": "2026-11-28T14:00:00Z", "host": "h", "user": "ann", "from": "configuration", "configuration": "sha256:0123456789abcdef", "plan": "sha256:aa",
				"content": {"catalogs": 1, "packages": 2, "releases": 1, "images": 3, "charts": 1, "files": 2, "bytes": 2048, "missing": 1, "withheld": 1},
				"earlier": [{"name": "ops", "revision": 1, "runs": 1, "lastRun": "2026-11-27T14:00:00Z", "from": "archive", "plan": "sha256:fedcba9876543210", "content": {"images": 1}}]}],
			"pending": [{"name": "edge", "runs": 1, "since": "2026-11-28T15:00:00Z", "host": "h2"}]}`, state, `IMAGE SET  LAST RUN              BY     FROM                               REVISION  RUNS  CONTENT
ops        2026-11-28T14:00:00Z  ann@h  configuration sha256:0123456789ab  2         5     1 catalog (2 packages), 1 release, 3 images, 1 chart, 2 files, 2.0 KiB, PARTIAL: 1 image missing, 1 withheld
           2026-11-27T14:00:00Z  -      archive, plan sha256:fedcba987654  1         1     1 image, 0 B

A run of edge by h2 has begun to push at 2026-11-28T15:00:00Z, and has no record: it is running, or was killed. Run it again.
`},
		{"no log", `{"workspace": "/w", "entries": 0}`, audited, "The workspace /w has no audit log yet; the next run begins it.\n"},
		{"a log", `{"workspace": "/w", "entries": 3, "head": {"hash": "abc"}, "notes": ["a run was killed"], "last": [
			{"sequence": 1, "time": "2026-11-28T14:00:00Z", "event": "run-began", "destination": "docker://m/site"},
			{"sequence": 2, "time": "2026-11-28T14:00:01Z", "event": "deleted", "subject": "a/b:v1", "digest": "sha256:aa", "by": "ann"},
			{"sequence": 3, "time": "2026-11-28T14:00:02Z", "event": "run-ended", "destination": "docker://m/site", "result": "partial", "images": 3, "copied": 2, "failed": 1, "digest": "sha256:bb", "message": "one image is missing"}]}`, audited, `ENTRY  TIME                  EVENT      SUBJECT          DETAILS
1      2026-11-28T14:00:00Z  run-began  docker://m/site  -
2      2026-11-28T14:00:01Z  deleted    a/b:v1           by ann, sha256:aa
3      2026-11-28T14:00:02Z  run-ended  docker://m/site  partial, 3 images, 2 copied, 1 missing, plan sha256:bb, one image is missing

note: a run was killed
3 entries, unchanged; the last has the hash abc
`},
		{"an altered log", `{"workspace": "/w", "entries": 1, "problems": ["line 1 was changed"], "last": [{"sequence": 1, "time": "2026-11-28T14:00:00Z", "event": "gate"}]}`, audited, `ENTRY  TIME                  EVENT  SUBJECT  DETAILS
1      2026-11-28T14:00:00Z  gate   -        -

CHANGED: line 1 was changed
`},
		{"nothing to list", `{"mirror": "docker://m/site", "file": "/list.yaml", "images": [], "unmatched": ["package kite"]}`, listed, `Nothing to delete from docker://m/site.

Not found:
  package kite

The list is in /list.yaml.
`},
		{"a list", `{"mirror": "docker://m/site", "file": "/list.yaml", "images": [{"source": "quay.io/a/b:v1", "image": "a/b:v1", "kind": "bundle"}], "bytes": 2048, "stays": [{"image": "a/c:v1", "reason": "ops needs it"}], "absent": ["a/d:v1"], "imageSets": ["ops", "edge"]}`, listed, `Selected in docker://m/site: 1 image, 2.0 KiB that nothing else needs.

  a/b:v1

Named, but kept:
  a/c:v1: ops needs it

Not in the mirror:
  a/d:v1

The list is in /list.yaml.

Remove it from the configurations of the image sets ops, edge, too:
until then, each run mirrors it again.
Nothing was deleted. To delete it:
  gantry prune --list /list.yaml docker://m/site
`},
		{"refused", `{"mirror": "docker://m/site", "refused": true, "images": []}`, deleted, "Nothing was deleted from docker://m/site.\n"},
		{"interrupted", `{"mirror": "docker://m/site", "images": []}`, deleted, "Nothing was deleted from docker://m/site yet. Run it again to continue.\n"},
		{"a dry run", `{"mirror": "docker://m/site", "dryRun": true, "images": ["a/b:v1"], "catalogs": [{"imageSet": "ops", "catalog": "quay.io/i:v1", "image": "i:v1"}],
			"plan": {"totals": {"repositories": 1, "manifests": 2, "tags": 1, "bytes": 2048}}, "absent": ["a/d:v1"], "unrecorded": 1}`, deleted, `Nothing to delete from docker://m/site: the mirror has none of the listed images.

To publish again without the bundles:
  i:v1 (quay.io/i:v1, image set ops)

Listed and to be deleted:
  a/b:v1

Not in the mirror:
  a/d:v1

1 listed image is in no record of the mirror. Not checked: whether other catalogs or clusters
need them.

Nothing was deleted, and nothing else was changed. To delete: leave out --dry-run.
`},
		{"all is needed", `{"mirror": "docker://m/site", "plan": {}, "images": [], "stays": [{"image": "a/c:v1", "reason": "ops needs it"}]}`, deleted, `Nothing was deleted from docker://m/site: what the mirror has of the list is needed.

Listed, but kept:
  a/c:v1: ops needs it
`},
		{"nothing is there", `{"mirror": "docker://m/site", "plan": {}, "images": []}`, deleted, "Nothing to delete from docker://m/site: the mirror has none of the listed images.\n"},
		{"deleted", `{"mirror": "docker://m/site", "plan": {}, "deleted": {"manifests": 2, "tags": 1, "bytes": 2048}, "images": ["a/b:v1"], "imageSets": ["ops"], "noRecords": true, "resources": {"dir": "/w/resources"}}`, deleted, `Deleted from docker://m/site: 2 manifests and 1 tag, 2.0 KiB that nothing else needs.

Listed and deleted:
  a/b:v1

The cluster resources in /w/resources were written again: apply them.

The mirror has no records of image sets. Not checked: whether catalogs, releases or clusters
need what was listed. Catalogs that name it were not changed.

Remove it from the configuration of the image set ops, too: the next
gantry mirror brings back what is still selected.

The registry frees the space when it collects garbage: docs/21-prune.md says how, for
CNCF distribution, Quay, Harbor, Nexus and Artifactory.
`},
		{"all is recorded", `{"mirror": "docker://m/site", "repositories": 3, "images": []}`, as(Unrecorded), "The records of docker://m/site list everything in its 3 repositories.\n"},
		{"unrecorded images", `{"mirror": "docker://m/site", "repositories": 3, "incomplete": "the registry lists no repositories", "images": [
			{"repository": "a/b", "tags": ["v1", "v2"], "digest": "sha256:aa", "type": "image", "bytes": 2048}, {"repository": "a/c", "digest": "sha256:bb", "type": "sbom", "bytes": 1, "belongsTo": "sha256:cc"},
			{"repository": "a/d", "tags": ["old"], "digest": "sha256:dd", "type": "image", "bytes": 1, "recorded": true}]}`, as(Unrecorded), `2 images or tags in docker://m/site that no record lists (2.0 KiB):
  a/b:v1 (image, 2.0 KiB)
  a/b:v2 (image, 2.0 KiB)

2 referrers or tags that no record lists, and that belong to recorded images (they are never selected):
  a/c@sha256:bb (sbom)
  a/d:old (image, another tag)

note: the registry lists no repositories

Nothing was deleted. Other clients may need all of it. To delete some: --select REPOSITORY[:TAG] --save FILE
writes a list for gantry prune --list.
`},
		{"selected images", `{"mirror": "docker://m/site", "repositories": 3, "saved": "/list.yaml", "selected": 1, "images": [{"repository": "a/b", "tags": ["v1"], "digest": "sha256:aa", "type": "image", "bytes": 2048}]}`, as(Unrecorded), `1 image or tag in docker://m/site that no record lists (2.0 KiB):
  a/b:v1 (image, 2.0 KiB)

/list.yaml has 1 image or tag of these. To look at what would be deleted, and to delete it:
  gantry prune --list /list.yaml docker://m/site
  gantry prune --yes --list /list.yaml docker://m/site
`},
		{"the same content", `{"old": {"kind": "mirror", "source": "docker://m/site", "imageSets": [{"name": "ops", "revision": 1}]}, "new": {"kind": "archive", "source": "/disk", "name": "ops", "sequence": 2}}`, as(ContentDifference), "No difference: docker://m/site, ops (revision 1) and sequence 2 of \"ops\" in /disk have the same content.\n"},
		{"other content", `{"old": {"kind": "plan", "source": "old.json"}, "new": {"kind": "configuration", "source": "ops.yaml", "missing": 1}, "added": [{"name": "a/b:v1", "size": 1}], "removed": [], "changed": []}`, as(ContentDifference), `From plan old.json
  to configuration ops.yaml
Added: 1 image
  a/b:v1  1 B
New content: 0 B in 0 blobs and manifests. No longer needed: 0 B in 0 blobs and manifests.
1 image is unavailable at the source, and not compared.
`},
		{"findings", `{"mirror": "docker://m/site", "findings": [{"area": "tls", "name": "expiry", "state": "ok", "text": "valid", "remedy": "none"}, {"area": "tls", "name": "encryption", "state": "problem", "text": "expired", "remedy": "replace it"}, {"area": "clock", "name": "difference", "state": "warning", "text": "behind"}]}`, as(Doctor), `tls
  ok       expiry: valid
  problem  encryption: expired
           replace it
clock
  warning  difference: behind
1 problem, 1 warning with docker://m/site.
`},
		{"configurations", `{"files": [{"file": "a.yaml", "ok": true}, {"file": "b.yaml", "ok": true, "warnings": [{"line": 3, "message": "it is old", "hint": "rename it"}]}, {"file": "c.yaml", "ok": false, "problems": [{"message": "it is empty"}]}]}`, as(ConfigCheck), `a.yaml: ok
b.yaml:3: warning: it is old; rename it
b.yaml: ok, with 1 warning
c.yaml: it is empty
`},
		{"a gate", `{"program": "scan", "accepted": 2, "remembered": 1, "refused": 1, "failed": 1}`, as(Gate), "Gate scan: 2 images accepted (1 in earlier runs), 1 refused, 1 not decided.\n"},
	})
}

// TestExplanationTexts checks the text of why something is in a plan.
func TestExplanationTexts(t *testing.T) {
	explained := as(Explanation)
	checkRendered(t, []rendered{
		{"a bundle and a release", `{"bundles": [{"name": "kite.v1", "package": "kite", "catalog": "quay.io/i:v1", "featuresUnknown": true, "channels": [{"channel": "stable", "reason": "head"}, {"channel": "beta", "reason": "path", "for": "kite.v2"}]}],
			"releases": [{"name": "4.20.1-x86_64", "erratum": "https://example.com/1", "reasons": [{"reason": "release"}, {"channel": "fast-4.20", "reason": "head"}], "updates": [{"from": "4.19.1", "to": "4.20.1", "channel": "fast-4.20"}]}],
			"askedFor": [{"file": "a.yaml", "line": 7, "without": {"images": 2, "bytes": 2048}}, {"file": "a.yaml", "line": 9, "without": {"images": 0, "bytes": 0}}]}`, explained, `kite.v1 of package kite, catalog quay.io/i:v1
  its features are unknown: the catalog is not in the cache; gantry plan explain -c FILE reads it
  channel stable: head
  channel beta: path, for kite.v2
release 4.20.1-x86_64
  erratum https://example.com/1
  named by the configuration
  channel fast-4.20: head
  on the update path from 4.19.1 to 4.20.1 in channel fast-4.20
asked for by a.yaml:7; without that line, 2 images and 2.0 KiB would go
asked for by a.yaml:9; without that line, nothing would go, since other lines need all of it
`},
		{"an image", `{"images": [{"source": "quay.io/a/b:v1", "digest": "sha256:aa", "repository": "a/b", "tags": ["v1", "v2"], "size": 2048, "rewrittenFrom": "sha256:bb", "signatures": 2, "signers": [{"name": "ops", "type": "key"}],
				"lists": ["additionalImages"], "rules": ["newest 2"], "bundles": [{"name": "kite.v1", "package": "kite", "catalog": "quay.io/i:v1", "as": ["operand"], "channels": [{"channel": "stable", "reason": "head"}]}],
				"releases": [{"name": "4.20.1-x86_64", "as": ["cli"], "reasons": [{"channel": "fast-4.20", "reason": "head"}]}], "charts": [{"chart": "c 1"}, {"chart": "d 2", "as": ["Deployment web"]}]},
			{"source": "quay.io/a/c:v1", "missing": "404"}, {"source": "quay.io/a/d:v1", "blocked": "a/d"},
			{"source": "quay.io/a/e", "digest": "sha256:cc", "repository": "a/e", "size": 1, "subject": "sha256:aa", "of": "quay.io/a/b:v1", "artifactType": "sbom", "predicateType": "spdx", "lists": ["hidden"], "notRewritten": "it is signed"},
			{"source": "quay.io/a/f", "digest": "sha256:dd", "repository": "a/f", "size": 1, "format": "oci", "rewrittenFrom": "sha256:ee", "namedBy": "kite.v1", "file": "notes.txt"}]}`, explained, `quay.io/a/b:v1
  becomes a/b:v1, v2, 2.0 KiB
  smaller index of sha256:bb, as sha256:aa
  signed by ops (key)
  carries 2 OpenPGP signatures
  in the configuration's additionalImages
    selected by the rule for tags: newest 2
  named by kite.v1 as operand (package kite, catalog quay.io/i:v1)
    channel stable: head
  named by release 4.20.1-x86_64 as cli
    channel fast-4.20: head
  chart c 1
  named by chart d 2 in Deployment web
quay.io/a/c:v1
  missing at the source: 404
quay.io/a/d:v1
  blocked by "a/d"
quay.io/a/e
  becomes a/e@sha256:cc, 1 B
  keeps its digest and all its platforms: it is signed
  belongs to sha256:aa of quay.io/a/b:v1
  has the type sbom, with spdx
quay.io/a/f
  file notes.txt
  becomes a/f@sha256:dd, 1 B
  converted to the media types of OCI from sha256:ee, as sha256:dd
  clusters do not find it, because they request the digest of the original (named by kite.v1)
`},
	})
}
