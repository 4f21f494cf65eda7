package convert

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive/ocarchive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

const configuration = `kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror:
  platform:
    graph: true
    channels:
    - name: stable-4.20
  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages:
    - name: lantern
  additionalImages:
  - name: quay.io/tools/shell:1
  - name: quay.io/tools/pinned@sha256:DIGEST
    targetRepo: ours/pinned
`

const filter = "0123456789abcdef0123456789abcdef"

// firstMonth is a cache with one image of every kind.
func firstMonth(t *testing.T) (o *ocmirror, config string) {
	o = newOCMirror(t)
	o.tag("tools/shell", "1", o.image("tools/shell", "shared", "shell").Digest)
	pinned := o.tag("ours/pinned", "", o.image("ours/pinned", "pinned").Digest)
	// Of this index, one platform was not mirrored.
	amd := o.image("tools/multi", "amd64")
	amd.Platform = &ocispec.Platform{OS: "linux", Architecture: "amd64"}
	arm := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("arm64"), Size: 9}
	index := o.manifest("tools/multi", ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{amd, arm}})
	o.tag("tools/multi", "latest", index.Digest)
	// The catalog, as it is and filtered, with a bundle and its operand.
	original := o.tag("acme/operator-index", "v4.20", o.image("acme/operator-index", "all packages").Digest)
	filtered := o.tag("acme/operator-index", filter, o.image("acme/operator-index", "lantern alone").Digest)
	stale := strings.Repeat("f", 32)
	o.tag("acme/operator-index", stale, original)
	bundle := o.tag("lantern/bundle", "", o.image("lantern/bundle", "bundle").Digest)
	operand := o.tag("lantern/operand", "", o.image("lantern/operand", "operand", "shared").Digest)
	o.tag("lantern/operand", "sha256-"+operand.Encoded()+".sig", o.image("lantern/operand", "signature").Digest)
	below := "operator-catalogs/operator-index/" + original.Encoded() + "/filtered-catalogs/" + filter
	o.work[below+"/digest"] = []byte(filtered.Encoded())
	text, err := json.Marshal(map[string]any{
		"schema": "olm.bundle", "name": "lantern.v1.0.0", "package": "lantern", "image": "registry.example.com/lantern/bundle@" + string(bundle),
		"relatedImages": []map[string]string{{"name": "operand", "image": "registry.example.com/lantern/operand@" + string(operand)}},
	})
	fail.On(t, err)
	o.work[below+"/catalog-config/lantern/catalog.json"] = append([]byte(`{"schema":"olm.package","name":"lantern","defaultChannel":"stable"}`+"\n"), text...)
	// A release, and graph data.
	payload := o.tag("openshift/release-images", "4.20.5-x86_64", o.image("openshift/release-images", "payload").Digest)
	component := o.tag("openshift/release", "4.20.5-x86_64-etcd", o.image("openshift/release", "etcd").Digest)
	o.work["signatures/4.20.5-x86_64-sha256-"+payload.Encoded()] = []byte("signed")
	o.work["hold-release/ocp-release/4.20.5-x86_64/release-manifests/image-references"] = []byte(
		`{"spec":{"tags":[{"name":"etcd","from":{"name":"quay.io/openshift-release-dev/ocp-v4.0-art-dev@` + string(component) + `"}}]}}`)
	o.tag("openshift/graph-image", "latest", o.image("openshift/graph-image", "graph").Digest)
	return o, strings.Replace(configuration, "sha256:DIGEST", string(pinned), 1)
}

func converted(t *testing.T, dirs ...string) *Conversion {
	t.Helper()
	from, err := ocarchive.Open(dirs...)
	fail.On(t, err)
	t.Cleanup(func() { _ = from.Close() })
	c, err := New(from, "oc-mirror")
	fail.On(t, err)
	return c
}

// listed returns what a plan mirrors, with the kind and source of each name.
func listed(p *plan.Plan) map[string]string {
	all := map[string]string{}
	for _, img := range p.Images {
		source, _, _ := strings.Cut(img.Source, "@sha256:")
		for _, name := range img.Names() {
			before, _, _ := strings.Cut(name, "sha256-")
			all[before] = string(img.Kind) + " " + source
		}
	}
	return all
}

// TestNames checks that everything that oc mirror pushes from an archive is in the plan, with the names that it gives, and
// with the sources that the archive tells.
func TestNames(t *testing.T) {
	t.Parallel()
	o, config := firstMonth(t)
	for name, limit := range map[string]int{"one volume": 1 << 30, "many volumes": 2000} {
		c := converted(t, o.archive(config, limit))
		want := map[string]string{
			"tools/shell:1":                          "additional quay.io/tools/shell:1",
			"tools/multi:latest":                     "additional unknown.invalid/tools/multi:latest",
			"ours/pinned:":                           "additional quay.io/tools/pinned",
			"acme/operator-index:v4.20":              "catalog registry.example.com/acme/operator-index:v4.20",
			"lantern/bundle:":                        "bundle registry.example.com/lantern/bundle",
			"lantern/operand:":                       "",
			"openshift/release-images:4.20.5-x86_64": "release quay.io/openshift-release-dev/ocp-release",
			"openshift/release:4.20.5-x86_64-etcd":   "component quay.io/openshift-release-dev/ocp-v4.0-art-dev",
			"openshift/graph-image:latest":           "additional unknown.invalid/openshift/graph-image:latest",
		}
		got := listed(c.Plan)
		got["lantern/operand:"] = "" // the image and its signature
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(c.Incomplete) > 0 || c.Earlier > 0 || len(c.Plan.Images) != 10 {
			t.Errorf("%s: %d images, incomplete %+v, %d are earlier ones", name, len(c.Plan.Images), c.Incomplete, c.Earlier)
		}
		k := c.Plan.Catalogs[0]
		if len(c.Plan.Catalogs) != 1 || !k.Built || k.Tag != "v4.20" || k.Digest == k.SourceDigest || len(k.Packages) != 1 || k.Packages[0].DefaultChannel != "stable" {
			t.Errorf("%s: catalogs %+v", name, c.Plan.Catalogs)
		}
		r := c.Plan.Releases[0]
		if len(c.Plan.Releases) != 1 || r.Version != "4.20.5" || len(r.Signatures) != 1 || string(r.Signatures[0].Body) != "signed" {
			t.Errorf("%s: releases %+v", name, c.Plan.Releases)
		}
		if n := len(c.Plan.Notes); n != 1 || !strings.Contains(c.Plan.Notes[0], "2 images came from are not in the archive, so that the mirror sets name the registry unknown.invalid") {
			t.Errorf("%s: notes %q", name, c.Plan.Notes)
		}
		for _, m := range c.Plan.Manifests {
			if m.Sparse != (len(m.Manifests) > 0) {
				t.Errorf("%s: manifest %+v", name, m)
			}
		}
		o.history = map[digest.Digest]bool{} // the next one is full, too
		for _, raw := range o.cache {
			o.wanted[digest.FromBytes(raw)] = true
		}
	}
}

// TestSeries checks that an archive that omits blobs is read with earlier ones, or with the cache, and that alone it has
// what it can have.
func TestSeries(t *testing.T) {
	t.Parallel()
	o, config := firstMonth(t)
	first := o.archive(config, 1<<30)
	o.tag("tools/shell", "1", o.image("tools/shell", "shared", "newer shell").Digest)
	o.tag("tools/new", "2", o.image("tools/new", "new").Digest)
	second := o.archive(config, 1<<30)
	newest := func(c *Conversion) (shell digest.Digest) {
		for _, img := range c.Plan.Images {
			if img.Repository == "tools/shell" {
				shell = img.Digest
			}
		}
		return shell
	}
	want := digest.Digest(o.cache[registryDir+"repositories/tools/shell/_manifests/tags/1/current/link"])
	for name, dirs := range map[string][]string{"both": {first, second}, "the second with the cache": {o.unpacked(), second}} {
		c := converted(t, dirs...)
		if len(c.Plan.Images) != 11 || len(c.Incomplete) > 0 || newest(c) != want {
			t.Errorf("%s: %d images, incomplete %+v, the shell is %s", name, len(c.Plan.Images), c.Incomplete, newest(c))
		}
	}
	c := converted(t, second)
	if len(c.Plan.Images) != 1 || c.Plan.Images[0].Repository != "tools/new" || c.Earlier != 9 {
		t.Errorf("alone: %+v, %d are earlier ones", listed(c.Plan), c.Earlier)
	}
	shared := digest.FromString("shared")
	fail.Diff(t, []Incomplete{{"tools/shell:1", want, shared}}, c.Incomplete)
}

// TestDamaged checks that a manifest that is not what oc mirror wrote is an error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	o, config := firstMonth(t)
	dir := o.archive(config, 1<<30)
	file := filepath.Join(dir, "mirror_000001.tar")
	raw, err := os.ReadFile(file)
	fail.On(t, err)
	at := strings.Index(string(raw), `"schemaVersion":2`)
	raw[at+1] ^= 1
	fail.On(t, os.WriteFile(file, raw, 0o600))
	from, err := ocarchive.Open(dir)
	fail.On(t, err)
	defer from.Close()
	if _, err := New(from, "oc-mirror"); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("an altered manifest: %v", err)
	}
}

// TestWholeCatalog checks that a catalog that is mirrored as it is tells what its images are: oc mirror copies the files of its image, which
// may be YAML. An image with a short name is in the repository that oc mirror gives it.
func TestWholeCatalog(t *testing.T) {
	t.Parallel()
	o := newOCMirror(t)
	original := o.tag("acme/operator-index", "v4.20", o.image("acme/operator-index", "all packages").Digest)
	bundle := o.tag("lantern/bundle", "", o.image("lantern/bundle", "bundle").Digest)
	o.tag("lantern/operand", "2", o.image("lantern/operand", "operand").Digest)
	short := o.tag("pump", "1", o.image("pump", "pump").Digest)
	o.tag("pump", "sha256-"+short.Encoded()+".sig", o.image("pump", "signature").Digest)
	below := "operator-catalogs/operator-index/" + original.Encoded() + "/catalog-config/configs/"
	o.work[below+"lantern/catalog.yaml"] = []byte(`---
schema: olm.package
name: lantern
defaultChannel: stable
---
schema: olm.bundle
name: lantern.v1.0.0
package: lantern
image: registry.example.com/lantern/bundle@` + string(bundle) + `
relatedImages:
- name: operand
  image: registry.example.com/lantern/operand:2
- image: acme/pump:1
`)
	o.work[below+"tidewater/index.json"] = []byte(`{"schema":"olm.package","name":"tidewater","defaultChannel":"fast"}`)
	o.work[below+".indexignore"] = []byte("README.md\n")
	o.work[below+"README.md"] = []byte("# Operators: what they do\n")
	config := strings.Replace(strings.Split(configuration, "  additionalImages:")[0], "    packages:\n    - name: lantern\n", "    full: true\n", 1)
	c := converted(t, o.archive(config, 1<<30))
	want := map[string]string{
		"acme/operator-index:v4.20": "catalog registry.example.com/acme/operator-index:v4.20",
		"lantern/bundle:":           "bundle registry.example.com/lantern/bundle",
		"lantern/operand:2":         "related registry.example.com/lantern/operand:2",
		"pump:1":                    "related docker.io/acme/pump:1",
		"pump:":                     "signature docker.io/acme/pump:sha256-" + short.Encoded() + ".sig",
	}
	fail.Diff(t, want, listed(c.Plan))
	if diff := cmp.Diff([]plan.Package{{Name: "lantern", DefaultChannel: "stable"}, {Name: "tidewater", DefaultChannel: "fast"}}, c.Plan.Catalogs[0].Packages); diff != "" || len(c.Plan.Notes) > 0 {
		t.Errorf("%s%q", diff, c.Plan.Notes)
	}

	o.work[below+"tidewater/index.json"] = []byte(`{"schema":"olm.package",`)
	o.wanted[original] = true
	if c := converted(t, o.archive(config, 1<<30)); len(c.Plan.Notes) != 1 || !strings.Contains(c.Plan.Notes[0], "configs/tidewater/index.json") {
		t.Errorf("a damaged file of a catalog: %q", c.Plan.Notes)
	}
}

// TestCharts checks that the charts of repositories, which are in archives, tell the registries of their images.
func TestCharts(t *testing.T) {
	t.Parallel()
	o := newOCMirror(t)
	for _, repository := range []string{"web/front", "web/back", "web/twice", "web/other"} {
		o.tag(repository, "2.0", o.image(repository, repository).Digest)
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"web/templates/deployment.yaml": "        image: \"quay.io/web/front:{{ .Chart.AppVersion }}\"\n        args: [--sidecar=ghcr.io/web/twice:2.0]\n",
		"web/charts/back/values.yaml":   "back:\n  image:\n    registry: registry.example.com:5000\n    repository: web/back\n    tag: \"2.0\"\n",
		"web/values.yaml":               "image: docker.io/web/twice:2.0\n",
		"web/README.md":                 "docker.io/web/other:2.0\n",
	} {
		fail.On(t, files.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg}))
		_, err := files.Write([]byte(text))
		fail.On(t, err)
	}
	fail.On(t, errors.Join(files.Close(), zipped.Close()))
	o.work["helm/charts/web-0.1.0.tgz"] = packed.Bytes()
	o.work["helm/charts/damaged-0.1.0.tgz"] = packed.Bytes()[:40]
	c := converted(t, o.archive("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {}\n", 1<<30))
	want := map[string]string{
		"web/front:2.0": "additional quay.io/web/front:2.0",
		"web/back:2.0":  "additional registry.example.com:5000/web/back:2.0",
		"web/twice:2.0": "additional unknown.invalid/web/twice:2.0",
		"web/other:2.0": "additional unknown.invalid/web/other:2.0",
	}
	fail.Diff(t, want, listed(c.Plan))
	if n := c.Plan.Notes; len(n) != 2 || !strings.Contains(n[0], "damaged-0.1.0.tgz in the archive cannot be read") || !strings.Contains(n[1], "2 images came from") {
		t.Errorf("notes %q", n)
	}
}
