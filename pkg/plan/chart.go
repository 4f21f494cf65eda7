package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// A Chart is one Helm chart: where it is from, and its artifact in the mirror. Its image has the kind
// ChartImage. The images that the rendered chart names have Reasons with its text (String).
type Chart struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Origin is the address of the chart repository without credentials ("https://…" or "oci://…"), or the
	// path of a local chart.
	Origin string `json:"origin"`
	// Source is the source of the image. Built reports whether Gantry made the artifact; otherwise it is the
	// one of a registry.
	Source string `json:"source"`
	Built  bool   `json:"built"`
	// Provenance reports whether the artifact has the signature of the chart's publisher.
	Provenance bool `json:"provenance,omitempty"`
	// Digest, Repository and Tag identify the artifact in the mirror.
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
}

// String returns "podinfo 6.5.0 of https://host/charts".
func (c Chart) String() string { return c.Name + " " + c.Version + " of " + c.Origin }

// CompareCharts orders the charts of a plan.
func CompareCharts(a, b Chart) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.Origin, b.Origin), strings.Compare(a.Source, b.Source))
}

// chartSchemes are the beginnings of the sources of charts that are not in a registry.
var chartSchemes = []string{"https://", "http://", ChartScheme}

// ChartScheme begins the source of a chart that is a local file or folder.
const ChartScheme = "chart://"

// IsChartSource reports whether a source names a chart that is not in a registry. Its artifact is
// only in the cache, or in the archive that it is read from.
func IsChartSource(source string) bool {
	return slices.ContainsFunc(chartSchemes, func(scheme string) bool { return strings.HasPrefix(source, scheme) })
}

// checkSource is the function checkSource for an image.
func (img *Image) checkSource(want digest.Digest) error {
	switch {
	case img.Kind == ChartImage && IsChartSource(img.Source):
		return checkText("the source", img.Source)
	case img.Kind == FileImage:
		return checkFileSource(img.Source)
	}
	return checkSource("the source", img.Source, want)
}

func (c *Chart) check() error {
	errs := []error{
		checkTexts("the name", c.Name, "the version", c.Version, "the origin", c.Origin),
		(&Image{Kind: ChartImage, Source: c.Source}).checkSource(""), checkDigest("the digest", c.Digest), checkTarget(c.Repository, c.Tag),
	}
	if c.Name == "" || c.Version == "" || c.Origin == "" {
		errs = append(errs, errors.New("it has no name, version or origin"))
	}
	if c.Built != IsChartSource(c.Source) {
		errs = append(errs, fmt.Errorf("its source %s is of another kind", nameOf(c.Source)))
	}
	return in("chart", c.Name, errs...)
}

// checkCharts checks that each chart has its image.
func (p *Plan) checkCharts() error {
	if len(p.Charts) == 0 {
		return nil
	}
	artifacts := p.artifacts(ChartImage)
	for _, c := range p.Charts {
		if !artifacts[artifact{c.Source, c.Digest, c.Repository, c.Tag}] {
			return fmt.Errorf("chart %s has no image in the plan", nameOf(c.String()))
		}
	}
	return nil
}

// An artifact is where an image is from, and one of its places in a mirror.
type artifact struct {
	source          string
	digest          digest.Digest
	repository, tag string
}

// artifacts returns the images of a kind.
func (p *Plan) artifacts(kind ImageKind) map[artifact]bool {
	all := map[artifact]bool{}
	for i := range p.Images {
		if img := &p.Images[i]; img.Kind == kind {
			for _, tag := range img.Tags {
				all[artifact{img.Source, img.Digest, img.Repository, tag}] = true
			}
		}
	}
	return all
}
