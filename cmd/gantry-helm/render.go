package main

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// The names that helm template uses if the user gives none.
const (
	releaseName = "release-name"
	namespace   = "default"
)

// A renderedChart is what helm template prints, as single manifests in the same order: first those
// that are installed, then hooks. Files of the folder crds are not among them; they contain no images.
type renderedChart struct {
	manifests []manifest
	notes     []string
}

// A manifest is one document, and the template that it is from.
type manifest struct{ name, content string }

// text returns what helm template prints.
func (r *renderedChart) text() string {
	var b strings.Builder
	for _, m := range r.manifests {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", m.name, m.content)
	}
	return b.String()
}

// renderChart renders a chart in the steps of helm template. A library chart, which cannot be
// installed, has no manifests.
func renderChart(r *render.Request) (*renderedChart, error) {
	c, err := loader.LoadArchive(bytes.NewReader(r.Chart))
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	if c.Metadata.Type == "library" {
		return &renderedChart{}, nil
	}
	if err := checkDependencies(c); err != nil {
		return nil, err
	}
	values, err := mergeValues(r.Values)
	if err != nil {
		return nil, err
	}
	capabilities, err := capabilitiesOf(r)
	if err != nil {
		return nil, err
	}
	out := &renderedChart{notes: dropRemoteSchemas(c)}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, fmt.Errorf("reading the dependencies: %w", err)
	}
	top, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: releaseName, Namespace: namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("the chart requires Kubernetes %s, and was rendered for %s: set kubeVersion", want, capabilities.KubeVersion.Version)
	}
	files, err := engine.Render(c, top)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(name, _ string) bool { return path.Base(name) == "NOTES.txt" })
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		out.manifests = append(out.manifests, manifest{m.Name, m.Content})
	}
	for _, h := range hooks {
		out.manifests = append(out.manifests, manifest{h.Path, h.Manifest})
	}
	return out, nil
}

// checkDependencies returns an error if the chart does not contain a chart that it depends on.
func checkDependencies(c *chart.Chart) error {
	for _, d := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(have *chart.Chart) bool { return have.Name() == d.Name }) {
			return fmt.Errorf("its Chart.yaml names the dependency %s, which is not in the folder charts: run helm dependency build", d.Name)
		}
	}
	return nil
}

// mergeValues merges files of values as helm template -f does.
func mergeValues(files []render.Values) (map[string]any, error) {
	merged := map[string]any{}
	for _, f := range files {
		values, err := loader.LoadValues(bytes.NewReader(f.Data))
		if err != nil {
			return nil, inputErrorf("%s: %s", f.Name, strings.TrimPrefix(err.Error(), "cannot load values.yaml: "))
		}
		merged = loader.MergeMaps(merged, values)
	}
	return merged, nil
}

// capabilitiesOf returns Helm's default capabilities with what the request sets.
func capabilitiesOf(r *render.Request) (*common.Capabilities, error) {
	c := common.DefaultCapabilities.Copy()
	if r.KubeVersion != "" {
		v, err := common.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, inputErrorf("kubeVersion %q is not a version of Kubernetes: %v", r.KubeVersion, err)
		}
		c.KubeVersion = *v
	}
	c.APIVersions = slices.Concat(c.APIVersions, r.APIVersions)
	return c, nil
}
