package mirror

import (
	"maps"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestVerify loses content of a registry: Verify finds it, and Run restores it and nothing else.
func TestVerify(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(m *maker, r *memoryRegistry)
		want map[string]string // source -> problem
	}{
		{"nothing", func(*maker, *memoryRegistry) {}, map[string]string{}},
		{
			"a tag", func(_ *maker, r *memoryRegistry) { delete(r.tags, "org/b:v1") },
			map[string]string{"src.example.com/org/b:v1": "the tag v1 is missing or names another image"},
		},
		{
			"a tag that was moved", func(_ *maker, r *memoryRegistry) { r.tags["org/a:v1"] = r.tags["org/a:v2"] },
			map[string]string{"src.example.com/org/a:v1": "the tag v1 is missing or names another image"},
		},
		{
			"a child", func(m *maker, r *memoryRegistry) { delete(r.manifests, key("org/multi", m.image("arm64"))) },
			map[string]string{"src.example.com/org/multi:v1": "1 of its 2 parts (platforms and what belongs to them) are missing"},
		},
		{
			"everything of one", func(m *maker, r *memoryRegistry) {
				delete(r.tags, "other/extra:latest")
				delete(r.manifests, key("other/extra", m.image("extra")))
			},
			map[string]string{"src.example.com/other/extra:latest": "it is missing"},
		},
		{
			"a repository", func(_ *maker, r *memoryRegistry) {
				delete(r.tags, "org/b:v1")
				maps.DeleteFunc(r.blobs, func(name string, _ bool) bool { return strings.HasPrefix(name, "org/b@") })
			},
			map[string]string{"src.example.com/org/b:v1": "the tag v1 is missing or names another image"},
		},
		{
			"what the source lacked", func(m *maker, _ *memoryRegistry) {
				m.p.Missing = []plan.Missing{{Source: "src.example.com/gone:v1", Message: "404"}}
			},
			map[string]string{"src.example.com/gone:v1": "it is missing at the source: 404"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, registry := sample(t), newMemoryRegistry()
			mustRun(t, m.plan(), m.source(), registry, Options{})
			tags, manifests := maps.Clone(registry.tags), maps.Clone(registry.manifests)
			tc.lose(m, registry)
			lacks, err := Verify(t.Context(), m.plan(), registry, Options{})
			fail.On(t, err)
			got := map[string]string{}
			for _, l := range lacks {
				got[l.Source] = l.Problem
			}
			fail.Diff(t, tc.want, got)
			if rep := mustRun(t, m.plan(), m.source(), registry, Options{}); rep.Copied+len(rep.Failed) != len(tc.want) {
				t.Errorf("report %+v, want %d images fixed", rep, len(tc.want))
			}
			fail.Diff(t, tags, registry.tags)
			fail.Diff(t, manifests, registry.manifests)
		})
	}
}

func TestImagesByContent(t *testing.T) {
	m := sample(t)
	base, child, none := m.p.Blobs[0].Digest, m.image("arm64"), digest.FromString("nobody's")
	holders, err := ImagesByContent(m.plan(), []digest.Digest{base, child, none})
	fail.On(t, err)
	got := map[digest.Digest][]string{}
	for d, images := range holders {
		for _, img := range images {
			got[d] = append(got[d], img.Source)
		}
	}
	want := map[digest.Digest][]string{
		base:  {"src.example.com/org/a:v1", "src.example.com/org/a:v2", "src.example.com/org/b:v1", "src.example.com/org/multi:v1"},
		child: {"src.example.com/org/multi:v1"},
	}
	fail.Diff(t, want, got)
	m.p.Manifests = m.p.Manifests[1:]
	if _, err := ImagesByContent(m.plan(), nil); err == nil {
		t.Error("a plan with a hole was taken")
	}
}
