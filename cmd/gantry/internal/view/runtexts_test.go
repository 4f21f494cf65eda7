package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// TestMirroredTexts checks the text of what a run copied.
func TestMirroredTexts(t *testing.T) {
	mirrored := as(func(r *mirroring.Result) string { return Mirrored(r, "see the plan", []string{"--src-plain-http"}) })
	// archive is a run that wrote an archive with content in these sequences.
	archive := func(bases airgap.BaseRange, present bool) func(*testing.T, string) string {
		return as(func(r *mirroring.Result) string {
			r.Archive.Bases, r.Archive.AlreadyPresent = bases, present
			return Mirrored(r, "", nil)
		})
	}
	only := as(func(r *mirroring.Result) string {
		r.Plan = &plan.Plan{Images: make([]plan.Image, 2)}
		r.Withheld = []plan.Publishable{{Catalog: "a"}, {Release: "b"}}
		return ResourcesOnly(r) + WithheldLater(&mirroring.Result{Destination: "file:///disk", Withheld: r.Withheld, Report: r.Report})
	})
	const none = `"blobsCopied": 0, "bytesCopied": 0, "blobsMounted": 0, "bytesMounted": 0, "blobsFound": 0, "manifests": 0`
	checkRendered(t, []rendered{
		{"a registry", `{"destination": "docker://m/site", "report": {"images": 3, "present": 1, "copied": 2, "blobsCopied": 4, "bytesCopied": 2048, "blobsMounted": 1, "bytesMounted": 5, "blobsFound": 2, "manifests": 3, "blobs": {"checked": 2, "unchecked": 3}},
			"transfer": {"bytesFound": 7, "bytesShared": 9}, "blocked": 1, "unsignedImages": 2, "notes": ["one"], "gate": {"program": "scan", "accepted": 2}, "converted": [{"source": "a"}],
			"missingBefore": [{"source": "quay.io/a/b:v1", "repository": "a/b", "tags": ["v1"], "problem": "it is missing"}],
			"resources": {"dir": "/w/cluster-resources", "files": ["idms.yaml"], "web": ["graph.json"], "removed": ["old.yaml"], "notes": ["two"], "folders": [{"dir": "/w/hosts", "files": ["a"], "removed": ["b"]}]},
			"charts": [{"name": "c", "address": "oci://m/c", "version": "1", "plainHTTP": true}], "files": [{"name": "notes.txt"}], "receipt": "/r.json", "repairRequest": "/q.json"}`, mirrored, `Missing before the repair
  quay.io/a/b:v1
      as a/b:v1
      it is missing
Mirrored to docker://m/site: 2 images copied, 1 already present.
Copied 2.0 KiB in 4 blobs and 3 manifests; mounted 1 blob (5 B); found 2 blobs (7 B); content that images share was sent once, which saved 9 B.
Checked that 2 of 5 blobs already present still exist; each run checks others, --blobs=check checks all, --blobs=read reads them.
Blocked by the configuration: 1 image, which catalogs may still list.
2 images have no signature.
1 image is converted to other media types and other digests than at their sources; their signatures are left out.
Gate scan: 2 images accepted.
1 note about the plan: see the plan.
Cluster resources: /w/cluster-resources (1 file)
  and 1 file for a web server in its folders: graphs for clusters without an update service, signatures
  removed old.yaml, which no longer applies
  note: two
Beside them: /w/hosts (1 file)
  removed b, which no longer applies
Helm charts:
  helm install c oci://m/c --version 1 --plain-http
Files:
  gantry get docker://m/site notes.txt --to FILE --src-plain-http
Repair request, for blobs that could not be rebuilt from deltas: /q.json
Receipt: /r.json
`},
		{"nothing to copy", `{"destination": "docker://m/site", "report": {"images": 3, "present": 3, "blobs": {"checked": 5}}, "transfer": {}}`, mirrored, `Nothing to copy: all 3 images are at docker://m/site.
Checked that all 5 blobs already present still exist; --blobs=read reads them.
`},
		{"every blob was read", `{"destination": "docker://m/site", "report": {"images": 1, "present": 1, "blobs": {"checked": 1, "read": true}}, "transfer": {}}`, mirrored, `Nothing to copy: the image is at docker://m/site.
Read 1 blob already present and compared them with their digests.
`},
		{"nothing was mirrored", `{"destination": "docker://m/site", "report": {"images": 1, "failed": [{"source": "a", "reason": "b"}], ` + none + `}, "transfer": {}}`, mirrored, "Nothing was mirrored to docker://m/site.\n"},
		{"nothing new", `{"destination": "docker://m/site", "report": {"images": 2, "present": 1, "failed": [{"source": "a", "reason": "b"}], ` + none + `}, "transfer": {}}`, mirrored, "Nothing new was mirrored to docker://m/site: 1 image is already present.\n"},
		{"unfinished", `{"destination": "oci:///layout", "report": {"images": 2, "present": 1, "unfinished": true, ` + none + `}, "transfer": {}}`, mirrored, "Not finished: images failed while they were copied, so nothing new is published at oci:///layout. The next run continues with what was copied.\n"},
		{"an archive", `{"destination": "file:///disk", "report": {"images": 3, "present": 1, "copied": 2, "blobsCopied": 4, "bytesCopied": 2048, "manifests": 3}, "transfer": {},
			"archive": {"sequence": 3, "buildsOn": 2, "leftOut": {"blobs": 1, "manifests": 2, "bytes": 5}}, "program": {"file": "gantry", "platform": "linux/amd64", "size": 2048, "sha256": "sha256:aa"}}`, archive(airgap.BaseRange{First: 1, Last: 2}, false), `Mirrored to file:///disk: 2 images copied, 1 already present or in the archives that it builds on.
Copied 2.0 KiB in 4 blobs and 3 manifests.
Sequence 3 omits 1 blob (5 B), which is in sequences 1 to 2; --base none writes all content.
Carry this program for linux/amd64, too: gantry (2.0 KiB), with gantry.sha256.
Sequence 3 at file:///disk; carry all of these:
  total  0 B
On the disconnected side, with the path of the folder there:
  gantry mirror --from file:///disk docker://MIRROR
`},
		{"an archive for receipts", `{"destination": "file:///disk", "report": {"images": 3, "present": 1, "copied": 2, "manifests": 3}, "transfer": {}, "archive": {"sequence": 3, "buildsOn": 2, "leftOut": {"manifests": 2, "bytes": 5}}}`, archive(airgap.BaseRange{Last: 2, Receipts: 2}, false), `Mirrored to file:///disk: 2 images copied, 1 already present or in the archives that it builds on.
Copied 0 B in 0 blobs and 3 manifests.
Sequence 3 omits 2 manifests (5 B), which the sites of the 2 receipts have, which imported the sequences up to 2; --base none writes all content.
Sequence 3 at file:///disk; carry all of these:
  total  0 B
On the disconnected side, with the path of the folder there:
  gantry mirror --from file:///disk docker://MIRROR
`},
		{"an empty archive", `{"destination": "file:///disk", "report": {"images": 3, "present": 3}, "transfer": {}, "archive": {"sequence": 3, "buildsOn": 2, "empty": true}}`, archive(airgap.BaseRange{Last: 2}, false), `Nothing to copy, and nothing to carry: sequence 3 at file:///disk has no content, because all 3 images are in sequence 2 and earlier ones.
For a second copy of a disk, copy its files; --base none writes all content.
`},
		{"an empty archive for a receipt", `{"destination": "file:///disk", "report": {"images": 1, "present": 1}, "transfer": {}, "archive": {"sequence": 3, "buildsOn": 2, "empty": true}}`, archive(airgap.BaseRange{Last: 2, Receipts: 1}, false), `Nothing to copy, and nothing to carry: sequence 3 at file:///disk has no content, because the image is at the site according to its receipt, which covers the sequences up to 2.
--base none writes all content.
`},
		{"an archive that is there", `{"destination": "file:///disk", "report": {"images": 3, "present": 3}, "transfer": {}, "archive": {"sequence": 3, "buildsOn": 2}}`, archive(airgap.BaseRange{First: 2, Last: 2}, true), `Nothing to copy: sequence 3 at file:///disk has this content. It builds on sequence 2, which sites that never imported it need too.
Sequence 3 at file:///disk; carry all of these:
  total  0 B
On the disconnected side, with the path of the folder there:
  gantry mirror --from file:///disk docker://MIRROR
`},
		{"an archive that was completed", `{"destination": "file:///disk", "report": {"images": 3, "present": 3}, "transfer": {}, "archive": {"sequence": 3, "buildsOn": 2}}`, archive(airgap.BaseRange{First: 2, Last: 2}, false), `Nothing left to copy: sequence 3 at file:///disk is complete now.
Sequence 3 at file:///disk; carry all of these:
  total  0 B
On the disconnected side, with the path of the folder there:
  gantry mirror --from file:///disk docker://MIRROR
`},
		{"only resources", `{"destination": "docker://m/site", "report": {}, "resources": {"dir": "/w", "files": ["a.yaml", "b.yaml"]}}`, only, `Nothing was copied to docker://m/site; the cluster resources are those after a copy of 2 images.
Cluster resources: /w (2 files)
Without those of catalogs and releases that name images missing at their sources.
catalogs and releases that name these images will be withheld when file:///disk is mirrored to a registry`},
		{"resources", `{"dir": "/w", "files": ["a.yaml"]}`, as(func(f *cluster.ResourceFiles) string { return Resources(f) }), "Cluster resources: /w (1 file)\n"},
		{"a repair", `{"destination": "file:///disk", "sequence": 2, "content": 3, "bytes": 2048}`, as((*Repair).Text), `Repair of sequence 2 at file:///disk: 3 manifests and blobs, 2.0 KiB.
Carry it to the site and name its folder beside the one of the archive: --from file://DIR --from file://REPAIR.
`},
	})
}

// TestPrunedTexts checks the text of what was deleted, or would be.
func TestPrunedTexts(t *testing.T) {
	const deletions = `{"mirror": "docker://m/site", "totals": {"repositories": 1, "manifests": 3, "tags": 2, "bytes": 2048}, "revisions": ["a"],
		"manifests": [{"repository": "a/b", "digest": "sha256:aa", "tags": ["v1"], "source": "x", "step": 2, "bytes": 5, "lastWantedBy": {"imageSet": "ops"}}, {"repository": "a/b", "digest": "sha256:bb", "source": "x", "step": 3, "bytes": 7, "lastWantedBy": {"imageSet": "ops"}},
			{"repository": "a/c", "digest": "sha256:cc", "step": 1, "bytes": 1, "lastWantedBy": {"imageSet": "edge"}}],
		"tags": [{"repository": "a/d", "tag": "old", "digest": "sha256:dd", "lastWantedBy": {"imageSet": "ops"}}], "kept": [{"repository": "a/e", "tag": "v1", "reason": "a cluster runs it"}]}`
	failures := as(func(r *prune.Report) string { return strings.Join(DeletionFailures(r), "\n") })
	prepared := as(func(r *repositories.Prepared) string { return PreparedRegistry(r, false) })
	checkRendered(t, []rendered{
		{"nothing", `{"plan": {"mirror": "docker://m/site"}}`, as(Pruned), "Nothing to delete: everything that the records of docker://m/site list is needed.\n"},
		{"a plan", `{"plan": ` + deletions + `, "imageSets": ["edge", "ops"], "saved": "/plan.json", "forgotten": {"name": "old"}}`, as(Pruned), `To delete from docker://m/site:

1 image or tag in the image set edge before:
  a/c@sha256:cc (1 B)

2 images or tags in the image set ops before:
  a/b:v1 (12 B)
  a/d:old (the tag alone)

1 earlier record that lists nothing else

3 manifests and 2 tags in 1 repository, 2.0 KiB that nothing else needs
The image set old is given up: its records are deleted last.

Not needed by any image set, but kept:
  a/e:v1: a cluster runs it

The mirror has records of 2 image sets: edge, ops. What any other image set needs is not known,
and is deleted if it is listed here: run gantry mirror for it before.

Nothing was deleted. To delete:
  gantry prune --plan /plan.json docker://m/site
`},
		{"a registry that deletes nothing", `{"plan": ` + deletions + `, "refused": true}`, as(Pruned), `Not deleted from docker://m/site:

1 image or tag in the image set edge before:
  a/c@sha256:cc (1 B)

2 images or tags in the image set ops before:
  a/b:v1 (12 B)
  a/d:old (the tag alone)

1 earlier record that lists nothing else

3 manifests and 2 tags in 1 repository, 2.0 KiB that nothing else needs

Not needed by any image set, but kept:
  a/e:v1: a cluster runs it

Nothing was deleted.
`},
		{"only records", `{"plan": {"mirror": "docker://m/site", "revisions": ["a", "b"]}, "deleted": {}}`, as(Pruned), "Deleted from docker://m/site: 2 earlier records that list nothing else.\n"},
		{"deleted", `{"plan": ` + deletions + `, "deleted": {"manifests": 3, "tags": 2, "bytes": 2048}, "forgotten": {"name": "old", "done": true}, "resources": {"dir": "/w"}}`, as(Pruned), `Deleted from docker://m/site: 3 manifests and 2 tags, 2.0 KiB that nothing else needs.
The image set old was given up, and its records were deleted.
The cluster resources in /w were written again.

Not needed by any image set, but kept:
  a/e:v1: a cluster runs it

The registry frees the space when it collects garbage: docs/21-prune.md says how, for
CNCF distribution, Quay, Harbor, Nexus and Artifactory.
`},
		{"failures", `{"failed": [{"repository": "a/b", "tag": "v1", "message": "denied"}, {"repository": "a/c", "digest": "sha256:aa", "message": "denied"}]}`, failures, "a/b:v1 was not deleted: denied\na/c@sha256:aa was not deleted: denied"},
		{"commands", `{"commands": ["create a", "create b"]}`, prepared, `create a
create b
`},
		{"created projects", `{"kind": "harbor", "mirror": "docker://m", "repositories": [{"name": "a", "created": true}, {"name": "b"}]}`, prepared, `created a
Created 1 project at docker://m. Already present: 1.
`},
		{"nothing to create", `{"kind": "quay", "mirror": "docker://m", "repositories": [{"name": "a"}]}`, prepared, "Nothing to create at docker://m. Already present: 1 repository.\n"},
	})
}
