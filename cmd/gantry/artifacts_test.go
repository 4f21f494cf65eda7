package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// part returns the descriptor of a blob.
func part(mediaType, data string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(data), Size: int64(len(data))}
}

// pushArtifact pushes a manifest with a config and layers of any type. Its text is not what Gantry would
// write: it is indented, and has a field that no specification has.
func (w *fixture) pushArtifact(ref string, m ocispec.Manifest, blobs ...string) digest.Digest {
	w.t.Helper()
	m.Versioned, m.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
	raw, err := json.MarshalIndent(m, "", "\t")
	fail.On(w.t, err)
	raw = bytes.Replace(raw, []byte("{"), []byte("{\n\t\"x-unknown\": 1.50,"), 1)
	parts := elements.Map(blobs, func(b string) []byte { return []byte(b) })
	repository, tag, _ := strings.Cut(ref, ":")
	d, err := w.source.Client().PushRaw(w.t.Context(), repository, tag, m.MediaType, raw, parts...)
	fail.On(w.t, err)
	return d
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
