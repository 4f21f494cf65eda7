package build

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// signing are services that have a signature for every payload.
type signing struct{ services }

func (signing) Signatures(context.Context, release.Product, digest.Digest) ([][]byte, error) {
	return [][]byte{bytes.Repeat([]byte("signature "), 120)}, nil // as long as real ones
}

// manyReleases is a channel of 161 releases, like stable-4.16, with 190 components each. Ten
// consecutive releases share one in three components.
func manyReleases(b testing.TB) (*fixture, Sources) {
	const repository = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	w := newFixture(b)
	var versions, updates []string
	payloads := map[string]string{}
	for r := range 161 {
		version := fmt.Sprintf("4.16.%d", r)
		var tags []map[string]any
		for c := range 190 {
			name := fmt.Sprintf("component-%d", c)
			of := fmt.Sprintf("%s %d", name, r)
			if c%3 == 0 {
				of = fmt.Sprintf("%s %d", name, r/10)
			}
			ref := w.push(repository, w.image("base", "base of "+name, of))
			tags = append(tags, map[string]any{"name": name, "from": map[string]string{"kind": "DockerImage", "name": ref}})
		}
		payloads[version] = w.push("quay.io/openshift-release-dev/ocp-release", w.releaseImage(version, tags))
		if r > 0 {
			updates = append(updates, versions[r-1]+" "+version)
		}
		versions = append(versions, version)
	}
	g := updateGraph(b, strings.Join(versions, " "), updates...)
	for i := range g.Nodes {
		g.Nodes[i].Payload = payloads[g.Nodes[i].Version.String()]
	}
	sources := w.sources()
	sources.Releases = signing{services{"ocp stable-4.16 amd64": g}}
	return w, sources
}

// releaseImage makes a release image with the given image references.
func (w *fixture) releaseImage(version string, tags []map[string]any) ocispec.Descriptor {
	var layer bytes.Buffer
	tw := tar.NewWriter(&layer)
	for name, v := range map[string]any{
		"image-references": map[string]any{
			"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": map[string]string{"name": version}, "spec": map[string]any{"tags": tags},
		},
		"release-metadata": map[string]any{"kind": "cincinnati-metadata-v0", "version": version},
	} {
		text, err := json.Marshal(v)
		if err == nil {
			err = tw.WriteHeader(&tar.Header{Name: "release-manifests/" + name, Mode: 0o444, Size: int64(len(text))})
		}
		if err == nil {
			_, err = tw.Write(text)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		w.t.Fatal(err)
	}
	desc := w.put(ocispec.MediaTypeImageLayer, layer.Bytes())
	config := w.json(ocispec.MediaTypeImageConfig, map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Labels": map[string]string{"io.openshift.release": version}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []digest.Digest{desc.Digest}},
	})
	return w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": config, "layers": []ocispec.Descriptor{desc},
	})
}

// BenchmarkPlanReleases plans a channel of 161 releases with 30,590 components, 21,000 of them
// distinct. The sources respond without delay.
func BenchmarkPlanReleases(b *testing.B) {
	_, sources := manyReleases(b)
	cfg := parseConfig(b, "  platform: {channels: [{name: stable-4.16, full: true}]}\n")
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	before := heap()
	b.ReportAllocs()
	var p *plan.Plan
	for b.Loop() {
		var err error
		if p, err = Plan(b.Context(), cfg, "imageset", sources, Options{}); err != nil {
			b.Fatal(err)
		}
		if len(p.Releases) != 161 || len(p.Missing) > 0 {
			b.Fatalf("%d releases, missing %v", len(p.Releases), p.Missing)
		}
	}
	b.ReportMetric(heap()-before, "MB-held")
	b.ReportMetric(float64(len(p.Images)), "images")
	runtime.KeepAlive(p)
	runtime.KeepAlive(sources) // part of the first measurement, so also of the last
}
