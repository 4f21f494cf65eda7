package mirror

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// TestDeletedTagsAreRestored checks that deleted tags of a repository are restored with one request
// each, and that only the manifests with these tags are read from the source.
func TestDeletedTagsAreRestored(t *testing.T) {
	m, source := sample(t), sample(t).source()
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(m.plan())
	fail.On(t, err)
	for name, tc := range map[string]struct {
		tags []string
		lost []string // manifests, by repository
		want map[string]int
	}{
		"the only tag":    {tags: []string{"org/b:v1"}, want: map[string]int{"has manifest": 8 + 1 + 1, "put manifest": 1}},
		"one of two":      {tags: []string{"org/a:v1"}, want: map[string]int{"has manifest": 8 + 1 + 1, "put manifest": 1}},
		"of an index":     {tags: []string{"org/multi:v1"}, want: map[string]int{"has manifest": 8 - 2 + 3 + 1, "put manifest": 1}},
		"of a catalog":    {tags: []string{"cat/index:v1"}, want: map[string]int{"has manifest": 8 + 1 + 1, "put manifest": 1}},
		"with everything": {tags: []string{"org/b:v1"}, lost: []string{"org/b"}, want: map[string]int{"has manifest": 8 + 1 + 1, "tags": 1, "mount blob": 1, "put blob": 2, "put manifest": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			registry := newMemoryRegistry()
			rep := mustRun(t, m.plan(), source, registry, Options{})
			h := NewRecord(m.plan(), names, rep, nil)
			for _, img := range m.plan().Images {
				if img.Kind == plan.CatalogImage {
					at := names[img.Repository].WithTag(img.Tags[0])
					at.Digest = img.Digest
					h.Catalogs = append(h.Catalogs, resources.Catalog{Mirror: at})
				}
			}
			for _, tag := range tc.tags {
				if registry.tags[tag] == "" {
					t.Fatalf("there is no %s", tag)
				}
				delete(registry.tags, tag)
			}
			for _, repository := range tc.lost {
				for _, img := range m.plan().Images {
					if img.Repository == repository {
						delete(registry.manifests, key(repository, img.Digest))
					}
				}
				for _, b := range m.plan().Blobs {
					delete(registry.blobs, key(repository, b.Digest))
				}
			}
			registry.calls = map[string]int{}
			rep = mustRun(t, m.plan(), source, registry, Options{Streams: 1, KnownTags: NewKnownTags(names, &h)})
			if diff := cmp.Diff(tc.want, registry.calls); diff != "" || rep.Copied != 1 || rep.Present != 5 {
				t.Errorf("%+v, requests: %s", rep, diff)
			}
			for _, tag := range tc.tags {
				if registry.tags[tag] == "" {
					t.Errorf("%s is missing", tag)
				}
			}
		})
	}
}
