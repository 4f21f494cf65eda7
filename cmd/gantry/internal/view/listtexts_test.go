package view

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// TestPlanTexts checks the text of a plan.
func TestPlanTexts(t *testing.T) {
	planned := as(func(p *plan.Plan) string {
		return Plan(p, p.Notes, "docker://m/site", &mirror.ToCopy{}, &airgap.PlannedDeltas{}, 0)
	})
	checkRendered(t, []rendered{
		{"a plan", `{"kind": "Plan", "version": 1, "name": "ops", "totals": {"images": 3, "manifests": 4, "blobs": 5, "bytes": 2048},
			"catalogs": [{"source": "quay.io/i:v1", "digest": "sha256:aa", "repository": "i", "tag": "v1", "built": true, "configsDir": "/configs", "selection": {},
				"packages": [{"name": "kite", "defaultChannel": "stable", "channels": [
					{"name": "stable", "head": "kite.v4", "bundles": [{"name": "kite.v1", "version": "1.0.0", "reason": "range"}, {"name": "kite.v2", "version": "2.0.0", "reason": "range"}, {"name": "kite.v3", "version": "3.0.0", "reason": "continuity"}, {"name": "kite.v4", "version": "4.0.0", "reason": "head"}]},
					{"name": "beta", "head": "kite.v4", "bundles": [{"name": "kite.v4", "version": "4.0.0", "reason": "head"}]}]}],
				"unlistedImages": [{"bundle": "kite.v4", "image": "quay.io/x:v1", "found": ["a container"], "mirrored": true}, {"bundle": "kite.v4", "image": "quay.io/y:v1", "found": ["an environment variable"]}]}],
			"charts": [{"name": "c", "version": "1", "origin": "https://charts", "repository": "charts/c", "tag": "1"}], "files": [{"name": "notes.txt", "origin": "notes.txt", "size": 3, "sha256": "sha256:0123456789abcdef"}],
			"tagRules": [{"repository": "quay.io/t", "rule": "newest 2", "selection": {}, "selected": 2}],
			"images": [
				{"source": "quay.io/i:v1", "digest": "sha256:aa", "repository": "i", "tags": ["v1"], "kind": "catalog", "catalog": "quay.io/i:v1", "because": []},
				{"source": "quay.io/a:v1", "digest": "sha256:bb", "repository": "a", "tags": ["v1"], "kind": "additional", "because": [{"list": "additionalImages"}]},
				{"source": "quay.io/r:v1", "digest": "sha256:cc", "rewrittenFrom": "sha256:dd", "repository": "r", "tags": ["v1"], "kind": "additional", "because": [{"list": "additionalImages"}]},
				{"source": "quay.io/s:v1", "digest": "sha256:ee", "notRewritten": "it is signed", "repository": "s", "tags": ["v1"], "kind": "related", "because": [{"catalog": "quay.io/i:v1", "package": "kite", "bundle": "kite.v4", "name": "s"}]}],
			"missing": [{"source": "quay.io/gone:v1", "kind": "related", "reason": "404", "because": [{"catalog": "quay.io/i:v1", "package": "kite", "bundle": "kite.v4"}]}], "blocked": [{"source": "quay.io/b:v1", "pattern": "b", "because": []}],
			"notes": ["a note"], "manifests": [], "blobs": []}`, planned, `Catalog quay.io/i:v1
  becomes i:v1 (rebuilt, sha256:aa)

  PACKAGE  CHANNEL           HEAD     VERSIONS        BUNDLES  KEPT FOR                       IMAGES  SIZE
  kite     stable (default)  kite.v4  1.0.0 .. 4.0.0  4        continuity 1, head 1, range 2  1       0 B
           beta              kite.v4  4.0.0           1        head

  Images that bundles use and relatedImages does not list
    quay.io/x:v1  mirrored
      kite.v4: a container
    quay.io/y:v1  NOT MIRRORED
      kite.v4: an environment variable

Helm charts
  c 1 of https://charts  becomes charts/c:1, names 0 images

Files
  notes.txt  from notes.txt  3 B  sha256:0123456789ab

Additional images
  quay.io/a:v1  becomes a:v1  0 B
  quay.io/r:v1  becomes r:v1  0 B

Rules for tags
  quay.io/t  newest 2: 2 tags

Smaller indexes, with the selected platforms
  quay.io/r:v1  becomes sha256:cc

Not rewritten, so mirrored with all platforms: it is signed
  quay.io/s:v1
      required by kite.v4

Blocked by the configuration (catalogs still list them)
  quay.io/b:v1  by "b"

Missing at the source
  quay.io/gone:v1
      required by kite.v4
      404

Notes
  a note

Images   3        (0 bundle, 1 related, 2 additional, 1 catalog)
Signed   0        (of 3 images that can have a signature; 3 without)
Content  2.0 KiB  (4 manifests, 5 blobs, each counted once)
To copy  0 B      (0 images, to docker://m/site)
Present  0 B      (0 images)
`},
	})
}

// TestListTexts checks the lists of oc mirror, and other lists.
func TestListTexts(t *testing.T) {
	operators := func(onePackage, oneChannel bool) func(*testing.T, string) string {
		return as(func(l *listing.CatalogListing) string { return OCMirrorOperators(l, onePackage, oneChannel) })
	}
	releases := func(version string) func(*testing.T, string) string {
		return as(func(l *releases.ReleaseList) string { return OCMirrorReleases(l, version) })
	}
	catalogs := func(version string) func(*testing.T, string) string {
		return as(func(found *[]string) string { return OCMirrorCatalogs(version, *found) })
	}
	valid := as(func(v *authoring.Validation) string {
		v.Packages, v.Channels, v.Bundles = 1, 2, 3
		return Validation(v)
	})
	const kite = `{"catalog": "i", "packages": [{"name": "kite", "displayName": "Kite", "defaultChannel": "stable", "channels": [{"name": "stable", "head": "kite.v2", "bundles": [{"name": "kite.v2", "version": "2.0.0"}, {"name": "kite.v1", "version": "1.0.0"}, {"name": "kite.v0"}]}]}]}`
	served := serve.Serving{Address: &net.TCPAddr{IP: net.IPv4zero, Port: 5000}, Repositories: 2, Images: &airgap.ServableImages{
		Count: 3, Example: "a/b:v1", Missing: []string{"quay.io/gone:v1"}, Incomplete: []string{"quay.io/part:v1", "quay.io/part:v2"}, Withheld: []plan.Publishable{{Catalog: "quay.io/i:v1"}}, Cause: errors.New("a volume is missing"),
	}}
	serving := func(*testing.T, string) string {
		s := NewServed(served)
		return s.URL + "\n" + strings.Join(append(append(s.NotServed, Serving(served, "/disk")...), NotServed(served.Images)...), "\n") + "\n"
	}
	checkRendered(t, []rendered{
		{"packages", kite, operators(false, false), `NAME  DISPLAY NAME  DEFAULT CHANNEL
kite  Kite          stable
`},
		{"a package", kite, operators(true, false), `NAME  DISPLAY NAME  DEFAULT CHANNEL
kite  Kite          stable

PACKAGE  CHANNEL  HEAD
kite     stable   kite.v2
`},
		{"a channel", kite, operators(true, true), `VERSIONS
1.0.0
2.0.0
`},
		{"catalogs", `["quay.io/a:v4.20", "quay.io/b:v4.20"]`, catalogs("4.20"), `Available OpenShift OperatorHub catalogs:
OpenShift 4.20:
quay.io/a:v4.20
quay.io/b:v4.20
`},
		{"versions of catalogs", `["4.19", "4.20"]`, catalogs(""), `Available OpenShift OperatorHub catalog versions:
  v4.20
  v4.19
`},
		{"channels", `{"product": "ocp", "channels": [{"name": "stable-4.20", "arch": "amd64"}, {"name": "fast-4.20", "arch": "amd64"}]}`, releases("4.20"), `Listing channels for version 4.20:

fast-4.20
stable-4.20
`},
		{"versions of releases", `{"product": "ocp", "channels": [{"name": "stable-4.19", "arch": "amd64"}, {"name": "stable-4.20", "arch": "amd64"}]}`, releases(""), `Available OpenShift Container Platform release versions:
  4.20
  4.19
`},
		{"releases", `{"product": "ocp", "channels": [{"name": "stable-4.20", "arch": "amd64", "releases": [{"version": "4.20.2"}, {"version": "4.20.1"}]}]}`, releases(""), `Listing stable channels. Use --channel=<name> to filter.
Use oc-mirror --v2 list releases --channels --version=4.20 to discover other channels.

Channel: stable-4.20
Architecture: amd64
4.20.1
4.20.2
`},
		{"a valid catalog", `{"catalog": "i", "passed": true, "problems": []}`, valid, "i: valid (1 package, 2 channels, 3 bundles)\n"},
		{"an invalid catalog", `{"catalog": "i", "problems": [{"file": "a.yaml", "line": 3, "message": "no head", "rule": "channel"}, {"message": "it is empty", "rule": "catalog"}]}`, valid, `a.yaml:3: no head (channel)
it is empty (catalog)
`},
		{"errata", `{"releases": [{"release": "4.20.1", "url": "https://e/1"}], "images": [{"image": "quay.io/a@sha256:aa", "errata": ["E1", "E2"], "build": "b-1"}], "read": 2}`, as(Errata), `
Errata
  release 4.20.1  https://e/1
  quay.io/a@sha256:aa
      E1, E2
      b-1
`},
		{"no errata", `{"read": 2}`, as(Errata), `
Errata
  no release, and none of 2 images, names a build or an erratum
`},
		{"signatures", `{"policy": "/policy.json", "digest": "sha256:aa", "signed": [{"name": "ops", "type": "key", "images": 2}], "verified": 2, "unsigned": 1, "refused": 1, "built": 1}`, as(VerifiedSignatures), `Signatures by /policy.json: 2 images verified, 1 accepted without verification, 1 refused; 1 image was made by Gantry, so that only the signature of an archive covers it.
  2 images by ops (key)
`},
		{"what is served", "", serving, `http://localhost:5000
quay.io/gone:v1
quay.io/part:v1
quay.io/part:v2
serving 3 images in 2 repositories of /disk on 0.0.0.0:5000; stop with Ctrl-C
try: podman pull --tls-verify=false localhost:5000/a/b:v1
1 image is not served, because the source did not have it when the archive was planned, and neither are these, which name them: catalog quay.io/i:v1
2 images are not served, because content is missing (a volume is missing); also name the folders of the earlier archives
`},
	})
}
