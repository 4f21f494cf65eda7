package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan"
)

// A loss is one thing that a complete mirror loses.
type loss struct {
	name string
	lose func()
	// blobs means that verify finds it with --blobs.
	blobs bool
	// words are in the output of verify.
	words []string
	// pushes is how many manifests and blobs the repair sends; 0 means one.
	pushes int
	// byResources means that gantry cluster resources restores it.
	byResources bool
}

// del deletes a manifest, a tag or a blob of the mirror.
func (w *fixture) del(path string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodDelete, w.mirror.URL()+"/v2/"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = answer.Body.Close() // it was not read
	if answer.StatusCode != http.StatusAccepted {
		w.t.Fatalf("deleting %s: %s", path, answer.Status)
	}
}

// change replaces a text in a file.
func (w *fixture) change(file, old, with string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		w.t.Fatalf("%s has no %q:\n%s", file, old, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// planIn reads a plan file.
func (w *fixture) planIn(file string) *plan.Plan {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := plan.Read(strings.NewReader(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// findAndRepair checks that verify finds each loss and that one command repairs it, with requests for
// nothing else.
func (w *fixture) findAndRepair(lock string, losses []loss) {
	w.t.Helper()
	verify := []string{"verify", "--plan", lock, w.docker("")}
	w.must(append(verify, "--deep")...)
	for _, l := range losses {
		l.lose()
		args := verify
		if l.blobs {
			args = append(verify, "--blobs")
		}
		o := w.gantry(args...)
		for _, words := range l.words {
			if o.code != exitMismatch || !strings.Contains(o.stdout, words) {
				w.t.Errorf("%s: %d, no %q in\n%s%s", l.name, o.code, words, o.stdout, o.stderr)
			}
		}
		w.source.ResetLog()
		w.mirror.ResetLog()
		if l.byResources {
			w.must("resources", w.docker(""))
		} else {
			repaired := w.must("mirror", "--plan", lock, "--repair-missing", w.docker(""))
			if !strings.Contains(repaired.stdout, "Missing before the repair") {
				w.t.Errorf("%s:\n%s", l.name, repaired.stdout)
			}
			var sent []string
			for _, r := range w.mirror.Log() {
				own := strings.HasPrefix(r.Repository(), "gantry/") || strings.Contains(r.Repository(), "/gantry/") // leases and records
				if !own && (r.Kind() == "POST upload" || r.Kind() == "PUT manifest") {
					sent = append(sent, r.Method+" "+r.Path)
				}
			}
			if len(sent) != max(1, l.pushes) {
				w.t.Errorf("%s: %d manifests and blobs were sent, want %d:\n%s", l.name, len(sent), max(1, l.pushes), strings.Join(sent, "\n"))
			}
			if n := w.source.Requests()["GET blob"]; l.blobs != (n == 1) {
				w.t.Errorf("%s: %d blobs were read from the source", l.name, n)
			}
		}
		w.must(append(verify, "--deep")...)
	}
}

func TestVerifyFindsEachLossOfACatalog(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	lock := w.path("plan.json")
	w.must("plan", "-c", w.path("imageset.yaml"), "-o", lock)
	w.must("mirror", "--plan", lock, w.docker(""))
	p := w.planIn(lock)
	var index *plan.Manifest
	var image, catalog *plan.Image
	for i := range p.Manifests {
		if len(p.Manifests[i].Manifests) > 1 {
			index = &p.Manifests[i]
		}
	}
	var indexed *plan.Image
	for i := range p.Images {
		switch img := &p.Images[i]; {
		case img.Kind == plan.CatalogImage && img.Repository == acme:
			catalog = img
		case img.Digest == index.Digest:
			indexed = img
		case img.Kind == plan.RelatedImage:
			image = img
		}
	}
	bundle := image.Reasons[0].Bundle
	resource := func(name string) string {
		found, err := filepath.Glob(w.path("workspace/cluster-resources/" + name))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		return found[0]
	}
	remove := func(name string) func() {
		return func() {
			if err := os.Remove(resource(name)); err != nil {
				t.Error(err)
			}
		}
	}
	w.findAndRepair(lock, []loss{
		{name: "an image", lose: func() { w.del(image.Repository + "/manifests/" + image.Digest.String()) }, words: []string{image.Source, "it is missing", "needed by", bundle}},
		{name: "a child", lose: func() { w.del(indexed.Repository + "/manifests/" + index.Manifests[0].String()) }, words: []string{indexed.Source, "1 of its"}},
		{name: "a blob", lose: func() { w.del(image.Repository + "/blobs/" + layerOf(p, image.Digest).String()) }, blobs: true, words: []string{image.Source, "its blob " + layerOf(p, image.Digest).String() + " is missing", bundle}},
		{name: "a catalog", lose: func() { w.del(acme + "/manifests/" + catalog.Digest.String()) }, words: []string{"the mirror does not have this catalog", "cs-", catalog.Source}},
		{name: "a CatalogSource", lose: remove("cs-*.yaml"), words: []string{"does not exist anymore"}, byResources: true},
		{name: "a mirror set", lose: remove("idms-*.yaml"), words: []string{"does not exist anymore", "clusters do not find it in the mirror", image.Source}, byResources: true},
		{name: "an entry of registries.conf", lose: func() {
			conf, err := filepath.Glob(w.path("workspace/hosts/containers/registries.conf.d/*"))
			if err != nil || len(conf) != 1 {
				t.Fatalf("%v %v", conf, err)
			}
			if err := os.WriteFile(conf[0], nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, words: []string{"hosts do not find it in the mirror", image.Source}, byResources: true},
		{name: "an altered CatalogSource", lose: func() {
			file := resource("cs-*.yaml")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			at := strings.Index(string(text), "sha256:")
			altered := string(text[:at]) + digest.FromString("another").String() + string(text[at+len(catalog.Digest):])
			if err := os.WriteFile(file, []byte(altered), 0o600); err != nil {
				t.Fatal(err)
			}
		}, words: []string{"the mirror does not have this catalog"}, byResources: true},
	})
	// The files may be elsewhere, and the workspace need not exist.
	there := []string{"verify", "--plan", lock, w.docker(""), "--workspace", w.path("none")}
	if o := w.must(there...); !strings.Contains(o.stdout, "no cluster resources") {
		t.Errorf("%s", o.stdout)
	}
	w.must(append(there, "--resources", w.path("workspace/cluster-resources"))...)
	if err := os.Remove(resource("itms-*.yaml")); err != nil {
		t.Fatal(err)
	}
	o := w.gantry(append(there, "--resources", w.path("workspace/cluster-resources"), "-o", "json")...)
	var result verify.VerifiedRegistry
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitMismatch || result.Resources == nil || len(result.Resources.Problems) == 0 || len(result.Missing) > 0 {
		t.Errorf("%d %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	w.refuse(exitUsage, []string{"--resources", "no such file"}, append(there, "--resources", w.path("absent"))...)
}

// layerOf returns the last layer of an image, or of the first platform of an index.
func layerOf(p *plan.Plan, d digest.Digest) digest.Digest {
	for _, m := range p.Manifests {
		switch {
		case m.Digest != d:
		case len(m.Blobs) > 0:
			return m.Blobs[len(m.Blobs)-1]
		default:
			return layerOf(p, m.Manifests[0])
		}
	}
	return ""
}

func TestVerifyFindsEachLossOfARelease(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	lock := w.path("plan.json")
	w.must("plan", "-c", w.config("imageset.yaml", provenPlatform), "-o", lock)
	w.must("mirror", "--plan", lock, w.docker(""))
	p := w.planIn(lock)
	release := p.Releases[0]
	component := ""
	var source string
	for _, img := range p.Images {
		if img.Kind == plan.ComponentImage {
			component, source = img.Repository+"/manifests/"+img.Digest.String(), img.Source
		}
	}
	changes := func(pattern, old, with string) func() {
		return func() {
			found, err := filepath.Glob(w.path("workspace/" + pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			w.change(found[0], old, with)
		}
	}
	signatures := filepath.Join(w.path("workspace/cluster-resources"), "signature-sha256-"+release.Digest.Encoded()[:16]+".json")
	w.findAndRepair(lock, []loss{
		{name: "a component", lose: func() { w.del(component) }, words: []string{source, "needed by release"}},
		{name: "a release", lose: func() { w.del(release.Repository + "/manifests/" + release.Digest.String()) }, words: []string{release.Source, "the mirror does not have the release image that it has signatures of"}},
		{name: "graph data", lose: func() { w.del(p.GraphData.Repository + "/manifests/" + p.GraphData.Digest.String()) }, words: []string{"the mirror does not have this graph data", "UpdateService"}},
		{name: "signatures", lose: func() {
			if err := os.Remove(signatures); err != nil {
				t.Error(err)
			}
		}, words: []string{"no ConfigMap has a signature of " + release.Digest.String()}, byResources: true},
		{name: "a changed file for installers", lose: changes("install/cluster-image-sets/*.yaml", release.Digest.String(), digest.FromString("another").String()),
			words: []string{"install/cluster-image-sets/", "the file was changed since Gantry wrote it", "the mirror does not have this image"}, byResources: true},
		{name: "a repository for installers", lose: changes("install/install-config.yaml", "/openshift/release\n", "/openshift/other\n"),
			words: []string{"install/install-config.yaml", "the file was changed since Gantry wrote it", "has no repository there"}, byResources: true},
		{name: "a changed file for hosts", lose: changes("hosts/containers/registries.conf.d/*.conf", "[[registry]]", "# changed\n[[registry]]"),
			words: []string{"hosts/containers/", "the file was changed since Gantry wrote it"}, byResources: true},
	})
}

func TestVerifyFindsEachLossOfASignature(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSignedSource(t, registrytest.Start(t, registrytest.Options{}), registrytest.Start(t, registrytest.Options{}))
	w.signEverything(true)
	lock := w.path("plan.json")
	w.must("plan", "-c", w.isc, "-o", lock)
	w.must("mirror", "--plan", lock, w.docker(""))
	at := w.planIn(lock).Images[0].Repository
	signature := w.attached["sha256-"+w.root.Digest.Encoded()+".sig"]
	list, err := w.mirror.Client().Pull(t.Context(), at, "sha256-"+w.root.Digest.Encoded())
	if err != nil {
		t.Fatal(err)
	}
	bundle := w.lists[w.root.Digest][0].Digest
	w.findAndRepair(lock, []loss{
		// The attestation and the SBOM have the text of the signature, and are the same manifest.
		{name: "a signature", pushes: 3, lose: func() { w.del(at + "/manifests/" + signature.String()) }, words: []string{"sha256-" + w.root.Digest.Encoded() + ".sig", "it is missing"}},
		{name: "a referrer", lose: func() { w.del(at + "/manifests/" + bundle.String()) }, words: []string{bundle.String(), "it is missing"}},
		{name: "the list of referrers", pushes: 2, lose: func() { w.del(at + "/manifests/" + list.Digest.String()) }, words: []string{bundle.String(), "does not list it as a referrer of " + w.root.Digest.String()}},
		{name: "the tag", lose: func() {
			other, err := registrytest.Index("other")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.mirror.Client().Push(t.Context(), at, "v1", other); err != nil {
				t.Fatal(err)
			}
		}, words: []string{"the tag v1 is missing or names another image"}},
	})
}

// TestVerifyFindsNothingInACompleteMirror verifies mirrors whose cluster resources have other forms.
func TestVerifyFindsNothingInACompleteMirror(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	lock := w.path("plan.json")
	w.must("plan", "-c", w.path("imageset.yaml"), "-o", lock)
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", w.path("imageset.yaml"), disk)
	for name, args := range map[string][]string{
		"kubernetes": {"--plan", lock, "--for", "kubernetes"},
		"icsp":       {"--plan", lock, "--icsp", "--for", "openshift-4.12"},
		"blocked":    {"--plan", lock, "--mirror-source-policy", "NeverContactSource"},
		"oc-mirror":  {"--plan", lock, "--layout", "oc-mirror"},
		"named":      {"--plan", lock, "--resource-name", "second"},
		"flat":       {"--plan", lock, "--max-nested-paths", "2"},
		"archive":    {"--from", disk},
	} {
		workspace := []string{"--workspace", w.path("ws-" + name)}
		to := w.docker("/" + name)
		w.must(slices.Concat([]string{"mirror", to}, args, workspace)...)
		verify := []string{"verify", to, "--plan", lock}
		if name == "flat" {
			verify = append(verify, "--max-nested-paths", "2")
		}
		o := w.gantry(append(verify, workspace...)...)
		if o.code != exitOK || !strings.Contains(o.stdout, "lead to content of the mirror") || strings.Contains(o.stdout, "Not checked") {
			t.Errorf("%s: %d\n%s%s", name, o.code, o.stdout, o.stderr)
		}
	}
	// Two image sets share the mirror, and each is verified alone.
	one, err := registrytest.Image("one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.Client().Push(t.Context(), "team/one", "v1", one); err != nil {
		t.Fatal(err)
	}
	other := w.config("other.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/team/one:v1\n")
	w.must("mirror", "-c", other, w.docker("/blocked"), "--workspace", w.path("ws-blocked"))
	for _, which := range [][]string{{"-c", other}, {"--plan", lock}} {
		w.must(slices.Concat([]string{"verify", w.docker("/blocked"), "--workspace", w.path("ws-blocked")}, which)...)
	}
	// A repair from the disk, without the sources.
	p := w.planIn(lock)
	img := p.Images[len(p.Images)-1]
	blob := layerOf(p, img.Digest)
	w.del("archive/" + img.Repository + "/blobs/" + blob.String())
	w.source.ResetLog()
	w.must("mirror", "--from", disk, "--repair-missing", w.docker("/archive"), "--workspace", w.path("ws-archive"))
	if n := len(w.source.Log()); n > 0 {
		t.Errorf("%d requests to the source", n)
	}
	w.must("verify", "--from", disk, "--deep", w.docker("/archive"), "--workspace", w.path("ws-archive"))
	w.refuse(exitUsage, []string{"--blobs=repair is for docker://"}, "mirror", "-c", other, "--repair-missing", disk)
	if o := w.must("mirror", "--plan", lock, "--repair-missing", w.docker("/named"), "--workspace", w.path("ws-named")); !strings.Contains(o.stdout, "Nothing to copy") || strings.Contains(o.stdout, "Missing before") {
		t.Errorf("%s", o.stdout)
	}
}
