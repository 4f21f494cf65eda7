package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/chart/render"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A ChartRenderer renders charts. The error is a *render.Error if the chart, or what is set for it, is wrong.
type ChartRenderer interface {
	Render(ctx context.Context, request render.Request) (*render.Response, error)
}

// chartJobs is the number of charts that are read at the same time. Each may take a hundred megabytes.
const chartJobs = 4

// helmCharts are the charts of a plan, requests for their artifacts, and the images that they name.
type helmCharts struct {
	charts   []plan.Chart
	requests []*imageRequest
	images   []chartImages
	missing  []plan.Missing
	notes    []string
}

// chartImages are the images that a chart names with the values of an entry of the configuration.
type chartImages struct {
	chart  string // plan.Chart.String
	entry  *imageset.Chart
	images []render.Image
	// possible are references that may be images which the chart uses.
	possible []render.Image
}

// readCharts selects, reads, stores and renders the charts of the configuration. A chart that is
// unavailable or does not render is missing in the result; what the configuration gets wrong is an error.
func readCharts(ctx context.Context, cfg *imageset.Helm, sources Sources, opts Options) (helmCharts, error) {
	if cfg == nil {
		return helmCharts{}, nil
	}
	wanted, notes, err := selectCharts(ctx, cfg, sources, opts)
	if err != nil {
		return helmCharts{}, err
	}
	r := chartReader{sources: sources, out: helmCharts{notes: notes}}
	read, err := collect(ctx, len(wanted), min(opts.Jobs, chartJobs), func(ctx context.Context, i int) (readChart, error) {
		return r.read(ctx, wanted[i])
	})
	if err != nil {
		return helmCharts{}, err
	}
	for i, c := range read {
		r.add(wanted[i], c)
	}
	for _, note := range r.out.notes {
		opts.Warn(note)
	}
	elements.Sort(r.out.charts, plan.CompareCharts)
	elements.Sort(r.out.missing, func(a, b plan.Missing) int { return strings.Compare(a.Source, b.Source) })
	return r.out, nil
}

// addRequests requests the images that the charts name. It returns notes about what is no reference.
func (h *helmCharts) addRequests(set *requestSet) (notes []string) {
	for _, c := range h.images {
		for _, img := range c.images {
			err := set.addReference(img.Name, imageRequest{
				kind: plan.AdditionalImage, reasons: []plan.Reason{{Chart: c.chart, Name: ownerName(img.Owner)}}, platforms: c.entry.Platforms,
				rewrite: c.entry.PlatformsMode == imageset.PlatformsRewrite, position: c.entry.Pos,
			})
			if err != nil {
				notes = append(notes, fmt.Sprintf("chart %s: %s names the image %.200q, which is not a reference; skipped; set values if it has to be one", c.chart, img.Owner, img.Name))
			}
		}
	}
	return notes
}

// maxOwner is the maximum length of the name of an object, in characters.
const maxOwner = 300

// ownerName returns the name of an object of a chart as one line.
func ownerName(s string) string {
	line := []rune(strings.Join(strings.Fields(plan.CleanMessage(s)), " "))
	return string(line[:min(len(line), maxOwner)])
}

// A chartReader reads charts.
type chartReader struct {
	sources Sources
	out     helmCharts

	mu     sync.Mutex
	values map[string][]byte // files of values that were read
}

// A readChart is a chart with its artifact and images, or the reason why it is missing.
type readChart struct {
	chart    plan.Chart
	request  *imageRequest
	response *render.Response
	missing  error
}

// read reads a chart, stores its artifact and renders it.
func (r *chartReader) read(ctx context.Context, w wantedChart) (readChart, error) {
	out := readChart{chart: w.chart}
	values, err := r.valuesOf(w.entry)
	if err != nil {
		return out, inputErrorf("%s: chart %s: %w", w.entry.Pos, cmp.Or(w.chart.Name, w.entry.Path), err)
	}
	c, root, err := r.open(ctx, w)
	if err != nil {
		return w.failed(ctx, out, err)
	}
	if out.chart.Name == "" { // a local chart
		out.chart.Name, out.chart.Version = c.Name, c.Version
		if want := w.entry.Version; want != "" && want != c.Version {
			return out, inputErrorf("%s: chart %s has the version %s, not %s", w.entry.Pos, w.entry.Path, c.Version, want)
		}
	}
	if c.Name != out.chart.Name || out.chart.Built && c.Version != out.chart.Version {
		return w.failed(ctx, out, fmt.Errorf("it contains the chart %s %s", c.Name, c.Version))
	}
	if root.Digest == "" {
		if root, err = chart.Build(ctx, r.sources.Store, c); err != nil {
			return out, err
		}
	}
	out.chart.Digest, out.chart.Provenance = root.Digest, c.Provenance != nil
	out.chart.Repository, out.chart.Tag = chart.Repository+"/"+c.Name, chart.Tag(out.chart.Version)
	out.request = &imageRequest{
		source: out.chart.Source, digest: root.Digest, kind: plan.ChartImage, all: true, position: w.entry.Pos,
		reasons: []plan.Reason{{Chart: out.chart.String()}},
	}
	if c.IsLibrary() {
		out.response = &render.Response{}
		return out, nil
	}
	out.response, err = r.sources.Renderer.Render(ctx, render.Request{
		Chart: c.Archive, Values: values, KubeVersion: w.entry.KubeVersion, APIVersions: w.entry.APIVersions,
		ImagePaths: w.entry.ImagePaths, ScanFields: w.entry.Scan == imageset.ScanFields,
		ScanComplete: w.entry.Scan == "" || w.entry.Scan == imageset.ScanComplete,
	})
	var wrong *render.Error
	switch {
	case errors.As(err, &wrong) && wrong.Kind == render.InputError:
		return out, inputErrorf("%s: chart %s: %w", w.entry.Pos, out.chart.Name, err)
	case errors.As(err, &wrong):
		return w.failed(ctx, out, fmt.Errorf("the chart does not render: %w", err))
	}
	return out, err
}

// failed returns a chart that is missing for a reason, unless the run ended.
func (w *wantedChart) failed(ctx context.Context, out readChart, reason error) (readChart, error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if w.entry.Path != "" { // a local chart is a part of the configuration
		return out, inputErrorf("%s: chart %s: %w", w.entry.Pos, w.entry.Path, reason)
	}
	out.missing = reason
	return out, nil
}

// open reads a chart from its source. The descriptor is the one of the artifact in a registry, or zero.
func (r *chartReader) open(ctx context.Context, w wantedChart) (*chart.Chart, ocispec.Descriptor, error) {
	var none ocispec.Descriptor
	switch {
	case w.entry.Path != "":
		c, err := openLocal(r.sources.Files, w.entry.Path)
		return c, none, err
	case w.chart.Built:
		c, err := r.sources.Repositories.Archive(ctx, w.address, w.sha256)
		return c, none, err
	}
	return openArtifact(ctx, r.sources.Images, w.chart.Source)
}

// valuesOf returns the values of an entry: its files, then its own.
func (r *chartReader) valuesOf(entry *imageset.Chart) ([]render.Values, error) {
	var all []render.Values
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range entry.ValuesFiles {
		data, ok := r.values[name]
		if !ok {
			var err error
			if data, err = r.sources.Files.ReadFile(name); err != nil {
				return nil, fmt.Errorf("valuesFiles: %w", err)
			}
			if r.values == nil {
				r.values = map[string][]byte{}
			}
			r.values[name] = data
		}
		all = append(all, render.Values{Name: name, Data: data})
	}
	if entry.Values != nil {
		all = append(all, render.Values{Name: "values", Data: entry.Values})
	}
	return all, nil
}

// add adds a chart to the result. Charts of one name and version from different places compete for one
// name in the mirror; all but the first get a repository of their own.
func (r *chartReader) add(w wantedChart, c readChart) {
	h := &r.out
	if c.missing != nil {
		h.missing = append(h.missing, plan.NewMissing(c.chart.Source, plan.ChartImage, c.missing, []plan.Reason{{Chart: c.chart.String()}}))
		return
	}
	for _, note := range c.response.Notes {
		h.notes = append(h.notes, fmt.Sprintf("chart %s: %s", c.chart, note))
	}
	h.images = append(h.images, chartImages{chart: c.chart.String(), entry: w.entry, images: c.response.Images, possible: c.response.Possible})
	for _, have := range h.charts {
		if have.Source == c.chart.Source && have.String() == c.chart.String() {
			return // selected twice, perhaps with other values
		}
	}
	for _, have := range h.charts {
		if have.Repository == c.chart.Repository && have.Tag == c.chart.Tag && have.Digest != c.chart.Digest {
			c.chart.Repository += "-" + reference.ShortHash(c.chart.Origin)
			h.notes = append(h.notes, fmt.Sprintf("chart %s becomes %s:%s, because %s is another chart of this name", c.chart, c.chart.Repository, c.chart.Tag, have))
			break
		}
	}
	c.request.repo, c.request.tags = c.chart.Repository, []string{c.chart.Tag}
	h.charts, h.requests = append(h.charts, c.chart), append(h.requests, c.request)
}
