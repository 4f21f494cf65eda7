package view

import (
	"testing"

	"github.com/gantry-mirror/gantry/archive/foreign"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestArchiveTexts checks the text of what is in an archive, and of what was made of it.
func TestArchiveTexts(t *testing.T) {
	inspection := as(func(r *inspect.Inspection) string { return Inspection(r, 0) })
	images := as(func(r *inspect.ArchiveImages) string { return ArchiveImages(r, 0) })
	content := as(func(r *inspect.ArchiveContent) string { return ArchiveContent(r, 0) })
	files := as(func(r *pull.FileList) string { return Files(r, 0) })
	checkRendered(t, []rendered{
		{"an archive", `{"folders": ["/disk", "/other"], "name": "ops", "sequence": 2, "set": "sha256:aa", "others": [1, 3],
			"signature": {"signed": true, "type": "ssh-ed25519", "key": "SHA256:abc"},
			"sets": [
				{"sequence": 2, "set": "sha256:bb", "repair": true, "manifest": "r.json", "folder": "/other", "content": 1, "bytes": 10, "volumeSize": 1000, "volumes": [{"name": "r.tar", "size": 20, "path": "/other/r.tar"}]},
				{"sequence": 2, "set": "sha256:aa", "manifest": "gantry-000002.json", "folder": "/disk", "recovered": "copy", "content": 3, "bytes": 2048, "elsewhere": 1, "deltas": 1, "deltaBytes": 5, "rebuiltBytes": 500,
					"volumeSize": 4096, "features": ["deltas"], "buildsOn": [{"sequence": 1, "set": "sha256:cc"}],
					"volumes": [{"name": "a.tar", "size": 2048, "path": "/disk/a.tar"}, {"name": "b.tar", "size": 1024, "problem": "missing"}, {"name": "c.tar", "size": 1, "path": "/disk/c.tar", "problem": "it has 0 bytes"}]},
				{"sequence": 1, "set": "sha256:cc", "manifest": "gantry-000001.json", "content": 0, "bytes": 0}],
			"missing": 2, "plan": {"digest": "sha256:dd", "totals": {"images": 2, "manifests": 3, "blobs": 4, "bytes": 2048}, "images": {"catalog": 1, "bundle": 1}, "missing": 1, "blocked": 2,
				"catalogs": [{"name": "quay.io/a/b:v1", "image": "a/b:v1", "packages": ["kite", "wren"]}], "releases": [{"name": "4.20.1-x86_64", "image": "x", "digest": "sha256:ee", "unverified": true}]}}`, inspection, `Archive       /disk, /other
Sequence      2 of "ops"
Set manifest  sha256:aa
Signature     with the ssh-ed25519 key SHA256:abc; set --verify-key or --allowed-signers to verify it

Repair of sequence 2
  1 manifest or blob (10 B) in 1 volume, volumes of at most 1000 B
  r.tar  20 B  /other/r.tar

Sequence 2
  3 manifests and blobs (2.0 KiB) in 3 volumes, volumes of at most 4.0 KiB
  gantry-000002.json is missing; its copy in a volume is the same, byte for byte
  builds on sequence 1, which brought 1 manifest or blob (0 B) that new images share
  carries 1 blob (500 B) as deltas (5 B)
  format features: deltas
  a.tar  2.0 KiB  /disk/a.tar
  b.tar  1.0 KiB  Missing
  c.tar  1 B      /disk/c.tar: it has 0 bytes

Sequence 1, which it builds on, is missing: sha256:cc

Other archives in the folder, which --sequence selects: 1 3

Plan     sha256:dd
Images   2        (1 bundle, 0 related, 0 additional, 1 catalog)
Content  2.0 KiB  (3 manifests, 4 blobs, each counted once)
Catalog quay.io/a/b:v1
  becomes a/b:v1
  kite
  wren
Platform releases
  4.20.1-x86_64  NOT VERIFIED
Missing at the source: 1 image
Blocked by the configuration: 2 images
`},
		{"an encrypted archive", `{"folders": ["/disk"], "name": "", "sequence": 1, "set": "sha256:aa", "missing": 0, "planProblem": "it is encrypted",
			"sets": [{"sequence": 1, "set": "sha256:aa", "manifest": "gantry-000001.json", "folder": "/disk", "recovered": "headers", "content": 0, "bytes": 0, "encrypted": true, "locked": true, "volumes": [{"name": "a.tar", "size": 2048, "path": "/disk/a.tar"}]}]}`, inspection, `Archive       /disk
Sequence      1 (the name is encrypted)
Set manifest  sha256:aa
Signature     none

Sequence 1
  encrypted in 1 volume, volumes of at most 0 B
  gantry-000001.json is missing; whether it was signed, and what it builds on, is not known
  a.tar  2.0 KiB  /disk/a.tar

The plan cannot be read: it is encrypted.
`},
		{"its images", `{"images": [{"name": "a/b:v1", "kind": "catalog", "digest": "sha256:aa", "size": 2048, "source": "x", "here": "yes"}, {"name": "a/long/name:v1", "kind": "bundle", "digest": "sha256:bb", "size": 1, "source": "y", "here": "earlier"}]}`, images, `NAME            KIND     SIZE     HERE     DIGEST
a/b:v1          catalog  2.0 KiB  yes      sha256:aa
a/long/name:v1  bundle   1 B      earlier  sha256:bb
`},
		{"its content", `{"content": [
			{"digest": "sha256:aa", "mediaType": "application/json", "size": 5, "sequence": 1, "volume": "a.tar", "offset": 512},
			{"digest": "sha256:bb", "size": 7, "sequence": 1, "volume": "a.tar", "offset": 1024, "part": 1, "parts": 2},
			{"digest": "sha256:cc", "size": 9, "sequence": 1, "volume": "b.tar", "offset": 512, "deltaOf": "sha256:dd", "blobSize": 2048}]}`, content, `VOLUME  OFFSET  BYTES  DIGEST     WHAT
a.tar   512     5      sha256:aa  application/json
a.tar   1024    7      sha256:bb  blob, part 1 of 2
b.tar   512     9      sha256:cc  delta of sha256:dd (2.0 KiB)
`},
		{"no difference", `{"old": {"archive": "/a", "name": "ops", "sequence": 1}, "new": {"archive": "/b", "name": "ops", "sequence": 2}}`, as(ArchiveDifference), "No difference: sequence 1 of \"ops\" in /a and sequence 2 of \"ops\" in /b have the same content.\n"},
		{"a difference", `{"old": {"archive": "/a", "name": "ops", "sequence": 1}, "new": {"archive": "/b", "name": "ops", "sequence": 2}, "newContent": 1, "newBytes": 2048, "goneContent": 2, "goneBytes": 1,
			"added": [{"name": "a/b:v1", "kind": "bundle", "new": "sha256:aa", "size": 2048}, {"name": "charts/c:1", "kind": "chart", "new": "sha256:bb", "size": 1}], "removed": [],
			"changed": [{"name": "a/c:v1", "old": "sha256:0123456789abcdef", "new": "sha256:fedcba9876543210", "size": 1}],
			"addedReleases": ["4.20.2-x86_64"], "removedReleases": ["4.20.1-x86_64"], "charts": {"added": [{"name": "c 1", "new": "sha256:bb", "size": 1}]}, "files": {"removed": [{"name": "notes.txt", "old": "sha256:cc", "size": 3}]},
			"catalogs": [{"name": "a/b", "change": "moved", "packages": [
				{"name": "kite", "change": "moved", "channels": [
					{"name": "stable", "change": "moved", "oldHead": "kite.v1", "newHead": "kite.v2", "added": ["kite.v2"], "moved": ["kite.v0"], "removed": ["a", "b", "c", "d"]},
					{"name": "beta", "change": "added", "newHead": "kite.v3"}, {"name": "old", "change": "removed", "oldHead": "kite.v0"}, {"name": "same", "change": "moved", "oldHead": "kite.v1", "newHead": "kite.v1"}]},
				{"name": "wren", "change": "removed"}]}]}`, as(ArchiveDifference), `From sequence 1 of "ops" in /a
  to sequence 2 of "ops" in /b
Changed: catalog a/b
  package kite
    channel stable: head kite.v2, was kite.v1; kite.v2 added; kite.v0 with another image; 4 bundles removed
    channel beta added: head kite.v3
    channel old removed, its head was kite.v0
    channel same: head kite.v1
  package wren removed
Added: 1 platform release
  4.20.2-x86_64
Removed: 1 platform release
  4.20.1-x86_64
Added: 1 chart
  c 1  1 B
Removed: 1 file
  notes.txt  3 B
Added: 1 image
  a/b:v1  2.0 KiB
Changed: 1 image
  a/c:v1  1 B  sha256:fedcba987654, was sha256:0123456789ab
New content: 2.0 KiB in 1 blob or manifest. No longer needed: 1 B in 2 blobs and manifests.
`},
		{"nothing to extract", `{"to": "/layout", "images": ["a:v1"], "report": {}}`, as(func(e *extract.Extracted) string { e.Count = 2; return Extracted(e) }), "Nothing to extract: all 2 images are already at oci:///layout.\n"},
		{"nothing rebuilt", `{"sequence": 3}`, as(RebuiltArchive), "All volumes of sequence 3 are intact; nothing was rebuilt.\n"},
		{"a rebuilt volume", `{"sequence": 3, "volumes": [{"name": "a.tar", "folder": "/disk", "size": 2048, "blocks": 2, "totalBlocks": 10}]}`, as(func(r *rebuild.Result) string { return RebuiltArchive(r) }), `Rebuilt 1 volume of sequence 3; every byte verified:
  /disk/a.tar  2.0 KiB, 2 of 10 blocks were missing or damaged
`},
		{"a converted archive", `{"folders": ["/in"], "archive": "/out", "sequence": 1, "totals": {"images": 2, "bytes": 2048}, "earlier": 3, "incomplete": [{"name": "a/b:v1", "missing": "sha256:aa"}], "notes": ["the charts are unknown"]}`,
			as(func(r *foreign.ConvertedArchive) string { return ConvertedArchive(r) }), `Converted /in to sequence 1 in /out: 2 images, 2.0 KiB.
Of 3 names, earlier archives have everything; they are not converted.
  incomplete: a/b:v1 has no sha256:aa
  note: the charts are unknown
On the disconnected side:
  gantry mirror --from file:///out docker://MIRROR
`},
		{"no files", `{"from": "file:///disk", "files": []}`, files, "file:///disk has no files.\n"},
		{"files", `{"from": "file:///disk", "files": [{"name": "a.txt", "size": 2048, "sha256": "sha256:0123456789abcdef0123"}, {"name": "a.txt", "size": 1, "sha256": "sha256:fedcba9876543210fedc", "older": true}]}`, files, `NAME                       SIZE     SHA256
a.txt                      2.0 KiB  0123456789abcdef0123
a.txt@sha256:fedcba987654  1 B      fedcba9876543210fedc
`},
		{"extracted files", `{"to": "/x", "files": [{"name": "a.txt", "size": 2048, "sha256": "sha256:aa", "to": "/x/a.txt"}, {"name": "b.txt", "size": 1, "sha256": "sha256:bb", "to": "/x/b.txt", "present": true}]}`, as(ExtractedFiles), `/x/a.txt: a.txt, 2.0 KiB, sha256:aa
/x/b.txt is already b.txt, 1 B, sha256:bb
`},
		{"no extracted files", `{"to": "/x", "files": []}`, as(ExtractedFiles), "The archive has no files.\n"},
	})
}

// TestVerifiedArchiveTexts checks the text of what a verification of an archive or a layout found.
func TestVerifiedArchiveTexts(t *testing.T) {
	damaged := as(func(r *verify.VerifiedArchive) string {
		r.Damage = []airgap.DamageImpact{{Text: "a.tar: it is missing", Breaks: []string{"a/b:v1", "a/c:v1"}}, {Text: "b.tar: wrong bytes", Recoverable: true}}
		return VerifiedArchive(r)
	})
	checkRendered(t, []rendered{
		{"intact", `{"archive": "/disk", "bytes": 2048, "images": 3, "signature": {"signed": true, "trusted": true, "principal": "ops@example.com", "type": "ssh-ed25519", "key": "SHA256:abc"}, "unread": [1, 2],
			"programs": [{"file": "gantry", "sha256": "sha256:aa"}, {"file": "helm", "sha256": "sha256:bb", "noChecksum": true}, {"file": "other", "sha256": "sha256:cc", "signature": {"signed": true, "trusted": true, "principal": "ops", "type": "ssh-ed25519", "key": "SHA256:abc"}}]}`, as(VerifiedArchive), `The archive is signed by ops@example.com with the ssh-ed25519 key SHA256:abc.
The archive in /disk is intact: 3 images, 2.0 KiB, every byte verified.
Not read: sequence 1, 2; the newest archive does not build on it, as far as the archives between them are present.
The program gantry beside it has the SHA-256 aa. It is not signed.
The program helm beside it has the SHA-256 bb. It has no checksum (helm.sha256) and no signature.
The program other beside it has the SHA-256 cc. It is signed by ops with the ssh-ed25519 key SHA256:abc.
`},
		{"encrypted", `{"archive": "/disk", "bytes": 2048, "images": 3, "encrypted": true, "locked": true}`, as(VerifiedArchive), `The archive in /disk is intact: 2.0 KiB, every byte verified.
It is encrypted: its images are unknown without --identity.
`},
		{"with earlier content", `{"archive": "/disk", "bytes": 1, "images": 3, "earlier": {"sequences": [1, 2], "content": 1, "bytes": 10}}`, as(VerifiedArchive), `The archive in /disk is intact: 3 images, 1 B, every byte verified.
It builds on sequence 1, 2, whose folder was not named: 1 blob or manifest (10 B) of its images is there.
`},
		{"with earlier content and bases", `{"archive": "/disk", "bytes": 1, "images": 3, "earlier": {"sequences": [1], "content": 2, "bytes": 10, "bases": 1, "baseBytes": 5}}`, as(VerifiedArchive), `The archive in /disk is intact: 3 images, 1 B, every byte verified.
It builds on sequence 1, whose folder was not named: 2 blobs and manifests (10 B) of its images and 1 blob (5 B) that deltas are based on are there.
`},
		{"with bases", `{"archive": "/disk", "bytes": 1, "images": 3, "earlier": {"sequences": [1], "content": 0, "bytes": 0, "bases": 2, "baseBytes": 5}}`, as(VerifiedArchive), `The archive in /disk is intact: 3 images, 1 B, every byte verified.
It builds on sequence 1, whose folder was not named: 2 blobs (5 B) that deltas are based on are there.
`},
		{"with an earlier plan", `{"archive": "/disk", "bytes": 1, "images": 3, "earlier": {"sequences": [1], "content": 2, "bytes": 10, "plan": true}}`, as(VerifiedArchive), `The archive in /disk is intact: 1 B, every byte verified.
It builds on sequence 1, whose folder was not named: the content that it omits is there, its plan included.
`},
		{"damaged", `{"archive": "/disk", "bytes": 1, "images": 3, "broken": ["a/b:v1", "a/c:v1"], "damage": []}`, damaged, `Damaged in /disk
  a.tar: it is missing
    breaks
      a/b:v1
      a/c:v1
  b.tar: wrong bytes (another copy is intact)
2 of 3 images are broken.
`},
		{"damaged, and the plan lost", `{"archive": "/disk", "bytes": 1, "images": 3, "planLost": true, "damage": []}`, damaged, `Damaged in /disk
  a.tar: it is missing
    breaks
      a/b:v1
      a/c:v1
  b.tar: wrong bytes (another copy is intact)
The affected images are unknown because the plan in the archive is lost too.
`},
		{"an intact layout", `{"layout": "/layout", "images": 2, "bytes": 2048, "leftOut": ["sha256:aa"]}`, as(VerifiedLayout), `The layout in /layout is intact: 2 images, 2.0 KiB, every byte verified.
1 platform of an index is not present, as usual if only some platforms are mirrored; set -c, --plan or --from to check that.
`},
		{"a damaged layout", `{"layout": "/layout", "images": 2, "bytes": 2048, "broken": ["a"], "damage": [{"file": "blobs/sha256/aa", "problem": "it is missing", "breaks": ["a"]}, {"file": "index.json", "problem": "not JSON"}],
			"lacking": [{"source": "quay.io/a/b:v1", "problem": "index.json does not list it"}]}`, as(VerifiedLayout), `Damaged in /layout
  blobs/sha256/aa: it is missing
    breaks
      a
  index.json: not JSON
    no image uses it
Missing in /layout
  quay.io/a/b:v1
      index.json does not list it
1 of 2 images are broken.
`},
	})
}
