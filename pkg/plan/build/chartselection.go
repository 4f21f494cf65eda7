package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A wantedChart is a version of a chart that an entry of the configuration selects. chart has its name,
// version, origin and source; name and version are "" for a local chart.
type wantedChart struct {
	chart plan.Chart
	entry *imageset.Chart
	// address is where its archive is, with what a plan must not contain; sha256 is its digest or "".
	address, sha256 string
}

// maxCharts is the maximum number of versions of charts in a plan.
const maxCharts = 50_000

// selectCharts returns the versions of charts that the configuration selects, in its order.
func selectCharts(ctx context.Context, cfg *imageset.Helm, sources Sources, opts Options) (all []wantedChart, notes []string, err error) {
	for i := range cfg.Repositories {
		r := &cfg.Repositories[i]
		var some []wantedChart
		young := &youngCharts{opts: opts, repository: redact.Address(r.URL)}
		if strings.HasPrefix(r.URL, ociScheme) {
			some, err = selectTags(ctx, r, sources, young)
		} else {
			var skipped []string
			some, skipped, err = selectIndexed(ctx, r, sources, young)
			if len(skipped) > 0 {
				notes = append(notes, fmt.Sprintf("%s of %s cannot be mirrored; skipped: %s", count(len(skipped), "chart", "charts"), redact.Address(r.URL), shortList(skipped)))
			}
		}
		if err != nil {
			return nil, nil, err
		}
		all, notes = append(all, some...), append(notes, young.notes()...)
		if len(all) > maxCharts {
			return nil, nil, inputErrorf("%s: the configuration selects more than %d versions of charts: list those that are needed under charts", r.Pos, maxCharts)
		}
	}
	for i := range cfg.Local {
		entry := &cfg.Local[i]
		all = append(all, wantedChart{entry: entry, chart: plan.Chart{Origin: entry.Path, Source: plan.ChartScheme + entry.Path, Built: true}})
	}
	return all, notes, nil
}

// selectTags selects charts of a registry by their tags.
func selectTags(ctx context.Context, r *imageset.HelmRepository, sources Sources, young *youngCharts) (all []wantedChart, err error) {
	base := strings.TrimSuffix(strings.TrimPrefix(r.URL, ociScheme), "/")
	for i := range r.Charts {
		entry := &r.Charts[i]
		repository, err := reference.Parse(base + "/" + entry.Name)
		if err != nil {
			return nil, inputErrorf("%s: chart %s: %w", entry.Pos, entry.Name, err)
		}
		name := path.Base(repository.Path)
		tags, err := sources.Tags.Tags(ctx, repository.String())
		if err != nil {
			return nil, fmt.Errorf("%s: listing the versions of chart %s of %s: %w", entry.Pos, entry.Name, r.URL, err)
		}
		versions := elements.Map(tags, chart.VersionOf)
		some, err := young.selectTags(ctx, entry, r.URL, repository, versions, sources)
		if err != nil {
			return nil, err
		}
		for _, v := range some {
			all = append(all, wantedChart{entry: entry, chart: plan.Chart{
				Name: name, Version: v, Origin: strings.TrimSuffix(r.URL, "/"), Source: repository.WithTag(chart.Tag(v)).String(),
			}})
		}
	}
	return all, nil
}

// selectIndexed selects charts of a repository by its index. skipped are versions that cannot be mirrored, with the reason.
func selectIndexed(ctx context.Context, r *imageset.HelmRepository, sources Sources, young *youngCharts) (all []wantedChart, skipped []string, err error) {
	index, err := sources.Repositories.Index(ctx, r.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: reading the chart repository %s: %w", r.Pos, redact.Address(r.URL), err)
	}
	add := func(entry *imageset.Chart, v chart.Version) {
		w, err := indexed(r.URL, v)
		if w.entry = entry; err != nil {
			skipped = append(skipped, plan.CleanMessage(fmt.Sprintf("%.100s %.100s (%v)", v.Name, v.Version, err)))
			return
		}
		all = append(all, w)
	}
	if len(r.Charts) == 0 {
		entry := &imageset.Chart{Pos: r.Pos}
		for _, name := range index.Names() {
			versions, err := index.Versions(name)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %s: %w", r.Pos, redact.Address(r.URL), err)
			}
			for _, v := range versions {
				if !v.IsLibrary() && !young.leavesOut(entry, &v) {
					add(entry, v)
				}
			}
		}
		return all, skipped, nil
	}
	for i := range r.Charts {
		entry := &r.Charts[i]
		versions, err := index.Versions(entry.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", entry.Pos, redact.Address(r.URL), err)
		}
		if len(versions) == 0 {
			return nil, nil, inputErrorf("%s: %s has no chart %q%s", entry.Pos, redact.Address(r.URL), entry.Name, hintFor(entry.Name, index.Names()))
		}
		var names []string
		for _, v := range versions {
			if young.leavesOut(entry, &v) {
				names = append(names, "") // it is not selected
				continue
			}
			names = append(names, v.Version)
		}
		some, err := selectVersions(entry, r.URL, names)
		if err != nil {
			return nil, nil, young.explain(entry, err)
		}
		selected := len(all)
		for _, name := range some {
			add(entry, versions[slices.Index(names, name)])
		}
		if len(all) == selected {
			return nil, nil, inputErrorf("%s: %s cannot be mirrored from %s", entry.Pos, skipped[len(skipped)-1], redact.Address(r.URL))
		}
	}
	return all, skipped, nil
}

func hintFor(name string, known []string) string {
	if hint := suggest.Phrase(name, known); hint != "" {
		return "; " + hint
	}
	return ""
}

// indexed returns the chart that a version in the index of a repository stands for, or why it cannot be mirrored.
func indexed(repository string, v chart.Version) (w wantedChart, err error) {
	w.chart = plan.Chart{Name: v.Name, Version: v.Version, Origin: strings.TrimSuffix(redact.Address(repository), "/")}
	if err := chart.CheckVersion(v.Name, v.Version); err != nil {
		return w, err
	}
	if len(v.URLs) == 0 {
		return w, errors.New("the index has no address of it")
	}
	if in, isRegistry := strings.CutPrefix(v.URLs[0], ociScheme); isRegistry {
		ref, err := reference.Parse(in)
		if err == nil && ref.Identifier() == "" {
			ref = ref.WithTag(chart.Tag(v.Version))
		}
		w.chart.Source = ref.String()
		return w, err
	}
	if w.address, err = resolveAddress(repository, v.URLs[0]); err != nil {
		return w, err
	}
	w.chart.Built, w.sha256 = true, strings.TrimPrefix(strings.ToLower(v.Digest), "sha256:")
	w.chart.Source = redact.Address(w.address)
	return w, nil
}

// resolveAddress returns the address of a file that the index of a repository names. As for Helm, a
// relative one is below the repository and keeps its query.
func resolveAddress(repository, file string) (string, error) {
	u, err := url.Parse(file)
	if err != nil {
		return "", errors.New("its address in the index is invalid") // the error has the address, and its secrets
	}
	if u.IsAbs() {
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return "", fmt.Errorf("the address %s is not http or https", redact.Address(file))
		}
		return u.String(), nil
	}
	base, err := url.Parse(repository)
	if err != nil {
		return "", err
	}
	query := base.RawQuery
	base.Path, base.RawPath, base.RawQuery = strings.TrimSuffix(base.Path, "/")+"/", "", ""
	u = base.ResolveReference(u)
	u.RawQuery = cmp.Or(u.RawQuery, query)
	return u.String(), nil
}
