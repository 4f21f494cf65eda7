package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// An artifact is a manifest, as it is in the registry, with its blobs.
type artifact struct {
	mediaType string
	manifest  []byte
	blobs     [][]byte
}

// part returns the descriptor of a blob.
func part(mediaType, data string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(data), Size: int64(len(data))}
}

// artifactOf returns an artifact with a config and layers of any type. Its text is not what Gantry would
// write: it is indented, and has a field that no specification has.
func artifactOf(t *testing.T, m ocispec.Manifest, blobs ...string) artifact {
	t.Helper()
	m.Versioned = specs.Versioned{SchemaVersion: 2}
	raw, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte("{"), []byte("{\n\t\"x-unknown\": 1.50,"), 1)
	a := artifact{mediaType: ocispec.MediaTypeImageManifest, manifest: raw}
	for _, b := range blobs {
		a.blobs = append(a.blobs, []byte(b))
	}
	return a
}

// artifacts are artifacts that are not container images: models, WebAssembly, policies, charts.
func artifacts(t *testing.T) map[string]artifact {
	t.Helper()
	empty := ocispec.DescriptorEmptyJSON // with data
	all := map[string]artifact{
		"model": artifactOf(t, ocispec.Manifest{
			MediaType: ocispec.MediaTypeImageManifest, Config: part("application/vnd.docker.ai.model.config.v0.1+json", `{"format":"gguf"}`),
			Layers: []ocispec.Descriptor{part("application/vnd.docker.ai.gguf.v3", "GGUF weights"), part("application/vnd.docker.ai.license", "license")},
		}, `{"format":"gguf"}`, "GGUF weights", "license"),
		"wasm": artifactOf(t, ocispec.Manifest{
			Config: part("application/vnd.wasm.config.v0+json", `{"os":"wasip1","architecture":"wasm"}`), // without mediaType, as OCI allows
			Layers: []ocispec.Descriptor{part("application/wasm", "\x00asm\x01\x00\x00\x00")},
		}, `{"os":"wasip1","architecture":"wasm"}`, "\x00asm\x01\x00\x00\x00"),
		"policy": artifactOf(t, ocispec.Manifest{
			MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/vnd.cncf.openpolicyagent.policy.v1", Config: empty,
			Layers:      []ocispec.Descriptor{part("application/vnd.cncf.openpolicyagent.policy.layer.v1+rego", "package main")},
			Annotations: map[string]string{ocispec.AnnotationTitle: "policy"},
		}, "{}", "package main"),
		"nothing": artifactOf(t, ocispec.Manifest{ // all its content is the empty object
			MediaType: ocispec.MediaTypeImageManifest, ArtifactType: "application/vnd.example.flag", Config: empty, Layers: []ocispec.Descriptor{empty},
		}, "{}"),
		"chart": artifactOf(t, ocispec.Manifest{
			MediaType: ocispec.MediaTypeImageManifest, Config: part("application/vnd.cncf.helm.config.v1+json", `{"name":"chart"}`),
			Layers: []ocispec.Descriptor{part("application/vnd.cncf.helm.chart.content.v1.tar+gzip", "chart")},
		}, `{"name":"chart"}`, "chart"),
	}
	vendor := part("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "of the vendor")
	vendor.URLs = []string{"https://vendor.example.com/layer"}
	all["windows"] = artifactOf(t, ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, Config: part(ocispec.MediaTypeImageConfig, `{"os":"windows","architecture":"amd64"}`),
		Layers: []ocispec.Descriptor{vendor, part(ocispec.MediaTypeImageLayerGzip, "own layer")},
	}, `{"os":"windows","architecture":"amd64"}`, "own layer")
	return all
}

// newEmptyFixture returns a fixture with one registry, which is both the source images.example.net and the
// mirror.
func newEmptyFixture(t *testing.T, o registrytest.Options) *fixture {
	t.Helper()
	notAgain(t)
	registry := registrytest.Start(t, o)
	w := &fixture{t: t, dir: registrytest.TempDir(t), source: registry, mirror: registry}
	w.surroundings(w.write("registries.conf", "[[registry]]\nprefix = \"images.example.net\"\nlocation = \""+registry.Host+"/images.example.net\"\ninsecure = true\n"+
		"[[registry]]\nlocation = \""+registry.Host+"\"\ninsecure = true\n"), "")
	return w
}

// TestArtifacts checks that artifacts that are not container images arrive byte for byte, directly and over
// a disk, and that what is not redistributable is named.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{Sparse: true}) // it accepts the URLs of layers
	from := w.source.Client()
	want := map[string]digest.Digest{} // by repository:tag
	stanza := "  additionalImages:\n"
	var children []ocispec.Descriptor
	for name, a := range artifacts(t) {
		for _, repository := range []string{"tools/" + name, "tools/bundle"} {
			tag := map[bool]string{true: "", false: "v1"}[repository == "tools/bundle"]
			d, err := from.PushRaw(t.Context(), "images.example.net/"+repository, tag, a.mediaType, a.manifest, a.blobs...)
			if err != nil {
				t.Fatal(err)
			}
			if tag != "" {
				want[repository+":v1"] = d
				stanza += "  - name: images.example.net/" + repository + ":v1\n"
			} else {
				children = append(children, ocispec.Descriptor{MediaType: a.mediaType, Digest: d, Size: int64(len(a.manifest)), ArtifactType: "application/vnd.example." + name})
			}
		}
	}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "application/vnd.example.bundle", Manifests: children,
		Annotations: map[string]string{"a": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want["tools/bundle:v1"], err = from.PushRaw(t.Context(), "images.example.net/tools/bundle", "v1", ocispec.MediaTypeImageIndex, index); err != nil {
		t.Fatal(err)
	}
	cfg := w.config("imageset.yaml", stanza+"  - name: images.example.net/tools/bundle:v1\n")

	w.must("mirror", "-c", cfg, w.docker("/direct"))
	w.says(w.must("plan", "-c", cfg).stdout, "images.example.net/tools/windows:v1: 1 layer is not redistributable and only at the vendor's URLs; clusters need access to these URLs")
	w.must("mirror", "-c", cfg, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("verify", "-c", cfg, w.docker("/direct"))
	for _, prefix := range []string{"direct/", "carried/"} {
		for name, d := range want {
			repository, tag, _ := strings.Cut(name, ":")
			got, err := w.mirror.Client().Pull(t.Context(), prefix+repository, tag)
			if err != nil || got.Digest != d {
				t.Errorf("%s%s: %v, %v; want %s", prefix, name, got.Digest, err, d)
			}
		}
	}
}

// smallPages makes a registry list three tags per page.
func smallPages(w http.ResponseWriter, r *http.Request, next http.Handler) {
	query := r.URL.Query()
	query.Set("n", "3")
	r.URL.RawQuery = query.Encode()
	next.ServeHTTP(w, r)
}

// TestTagRules mirrors tags by rules, directly and over a disk, from a repository whose tags take several
// pages.
func TestTagRules(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	from := w.source.Client()
	const repository = "images.example.net/tools/app"
	push := func(tag, created string) {
		t.Helper()
		config := fmt.Sprintf(`{"os":"linux","architecture":"amd64","created":%q,"tag":%q}`, created, tag)
		a := artifactOf(t, ocispec.Manifest{
			MediaType: ocispec.MediaTypeImageManifest, Config: part(ocispec.MediaTypeImageConfig, config), Layers: []ocispec.Descriptor{part(ocispec.MediaTypeImageLayerGzip, "app")},
		}, config, "app")
		if _, err := from.PushRaw(t.Context(), repository, tag, a.mediaType, a.manifest, a.blobs...); err != nil {
			t.Fatal(err)
		}
	}
	for _, tag := range []string{"latest", "v1.9.0", "v1.10.0", "v1.10.1", "v1.10.1-debug", "v2.0.0-rc.1", "sha256-" + strings.Repeat("0", 64) + ".sig"} {
		push(tag, "2026-01-02T03:04:05Z")
	}
	w.source.Script(registrytest.Rule{Path: "/tags/list$", Action: smallPages})
	cfg := w.config("imageset.yaml", "  additionalImages:\n  - name: "+repository+"\n    tags: {semver: '>=1', newest: 2, olderThan: 2026-02-01}\n  - name: "+repository+"\n    tags: {regex: .*-debug}\n    targetRepo: tools/debug\n")

	o := w.must("plan", "-c", cfg, "--lock", w.path("plan.json"))
	w.says(o.stdout, "Rules for tags\n", repository+"  regex .*-debug: 1 tag\n", repository+"  semver >=1, olderThan 2026-02-01, newest 2: 2 tags, created before 2026-02-01\n")
	w.must("mirror", "-c", cfg, w.docker("/direct"))
	w.must("mirror", "--plan", w.path("plan.json"), "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	for _, prefix := range []string{"direct", "carried"} {
		for _, name := range []string{"tools/app:v1.10.0", "tools/app:v1.10.1", "tools/debug:v1.10.1-debug"} {
			path, tag, _ := strings.Cut(name, ":")
			if _, err := w.mirror.Client().Pull(t.Context(), prefix+"/"+path, tag); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.mirror.Client().Pull(t.Context(), prefix+"/tools/app", "v1.9.0"); err == nil {
			t.Errorf("%s has a tag that no rule selects", prefix)
		}
	}
	w.says(w.must("explain", "--plan", w.path("plan.json"), "tools/app:v1.10.0").stdout,
		"  in the configuration's additionalImages\n    selected by the rule for tags: semver >=1, olderThan 2026-02-01, newest 2\n")

	w.must("config", "from-mirror", "file://"+w.path("disk"), "--to", w.path("drafted.yaml"))
	w.says(w.read("drafted.yaml"), "name: "+repository+"\n", "semver: '>=1'", "newest: 2", "targetRepo: tools/debug\n")
	w.must("config", "from-mirror", "--pinned", "file://"+w.path("disk"), "--to", w.path("pinned.yaml"))
	w.says(w.read("pinned.yaml"), "name: "+repository+"@sha256:", "targetTag: v1.10.1\n")

	push("v1.10.2", "2026-01-03T00:00:00Z")
	w.must("mirror", "-c", cfg, "file://"+w.path("later"))
	var changed, invalid bytes.Buffer
	run([]string{"archive", "diff", "file://" + w.path("disk"), "file://" + w.path("later")}, &changed, &changed)
	w.says(changed.String(), "tools/app:v1.10.2", "tools/app:v1.10.0")

	w.refuse(exitUsage, []string{"none.yaml:6: " + repository + ": none of its 7 tags matches the rule (semver ^2); v2.0.0-rc.1 is a prerelease"},
		"plan", "-c", w.config("none.yaml", "  additionalImages:\n  - name: "+repository+"\n    tags: {semver: ^2}\n"))
	w.refuse(exitUsage, []string{"gone.yaml:6: images.example.net/tools/gone: its tags cannot be listed"},
		"plan", "-c", w.config("gone.yaml", "  additionalImages:\n  - name: images.example.net/tools/gone\n    tags: {newest: 1}\n"))
	cfg = w.config("tagged.yaml", "  additionalImages:\n  - name: "+repository+":v1\n    tags: {newest: 1}\n")
	if code := run([]string{"config", "check", cfg}, &invalid, &invalid); code != exitUsage {
		t.Errorf("config check of a rule and a tag ended with %d", code)
	}
	w.says(invalid.String(), "tagged.yaml:5: ", "remove tags")
}
