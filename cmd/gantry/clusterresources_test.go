package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// clusterResource has the fields of the manifests that redirect pulls and offer catalogs.
type clusterResource struct {
	Kind string
	Spec struct {
		Image              string
		ImageDigestMirrors []mirrorEntry `yaml:"imageDigestMirrors"`
		ImageTagMirrors    []mirrorEntry `yaml:"imageTagMirrors"`
		Source             struct{ Image struct{ Ref string } }
	}
}

type mirrorEntry struct {
	Source  string
	Mirrors []string
}

// resolve checks that the manifests in a workspace are valid by their CRDs, that they redirect
// every image of the catalogs to the place it was pulled from, and that they offer exactly these
// catalogs.
func (w *fixture) resolve(workspace, prefix string, catalogs []registrytest.Verified) {
	w.t.Helper()
	files, err := filepath.Glob(w.path(workspace + "/cluster-resources/*.yaml"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("cluster resources: %v, %v", files, err)
	}
	out, err := exec.CommandContext(w.t.Context(), w.path("crdcheck"), append([]string{"-crds", "../../../shared/crds"}, files...)...).CombinedOutput()
	if err != nil {
		w.t.Errorf("the API server would refuse: %v\n%s", err, out)
	}
	var byDigest, byTag []mirrorEntry
	offered := map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		fail.On(w.t, err)
		for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var r clusterResource
			if err := dec.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				w.t.Fatalf("%s: %v", f, err)
			}
			byDigest = append(byDigest, r.Spec.ImageDigestMirrors...)
			byTag = append(byTag, r.Spec.ImageTagMirrors...)
			if image := r.Spec.Image + r.Spec.Source.Image.Ref; image != "" {
				offered[image]++
			}
		}
	}
	images := 0
	for _, c := range catalogs {
		for _, image := range c.Images {
			images++
			ref, err := reference.Parse(image)
			fail.On(w.t, err)
			entries := byTag
			if ref.Digest != "" {
				entries = byDigest
			}
			if got, want := redirect(entries, ref.Host+"/"+ref.Path), w.mirror.Host+"/"+prefix+"/"+ref.Path; !slices.Contains(got, want) {
				w.t.Errorf("%s is pulled from %q, but stored in %s", image, got, want)
			}
		}
	}
	w.t.Logf("%d files, %d digest and %d tag sources lead to %d images", len(files), len(byDigest), len(byTag), images)
	if len(offered) != len(catalogs) {
		w.t.Errorf("%d catalogs are offered, want %d: %v", len(offered), len(catalogs), offered)
	}
	for image, n := range offered {
		ref, err := reference.Parse(image)
		fail.On(w.t, err)
		if n != 2 || ref.Host != w.mirror.Host {
			w.t.Errorf("%s is offered %d times, want a CatalogSource and a ClusterCatalog of %s", image, n, w.mirror.Host)
		}
		pulled, err := w.mirror.Client().Pull(w.t.Context(), ref.Path, ref.Identifier())
		if err != nil {
			w.t.Error(err)
		}
		if !slices.ContainsFunc(catalogs, func(c registrytest.Verified) bool { return c.Catalog == pulled }) {
			w.t.Errorf("%s is not a catalog that was pulled", image)
		}
	}
}

// redirect returns the mirrors that a node tries for a repository before the source. The entry with
// the longest matching source wins (containers-registries.conf(5), prefix).
func redirect(entries []mirrorEntry, repository string) []string {
	var best mirrorEntry
	for _, e := range entries {
		rest, ok := strings.CutPrefix(repository, e.Source)
		if ok && (rest == "" || rest[0] == '/') && len(e.Source) > len(best.Source) {
			best = e
		}
	}
	return elements.Map(best.Mirrors, func(m string) string { return m + strings.TrimPrefix(repository, best.Source) })
}
