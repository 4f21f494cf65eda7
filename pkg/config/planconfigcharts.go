package config

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// charts adds the charts of a plan, each with its version. A plan does not have the values that they were
// rendered with.
func (d *planDraft) charts(p *plan.Plan) {
	if len(p.Charts) == 0 {
		return
	}
	m := &d.draft.Config.Mirror
	m.Helm = cmp.Or(m.Helm, &imageset.Helm{})
	for _, c := range p.Charts {
		entry := imageset.Chart{Name: c.Name, Version: c.Version}
		if c.Source == plan.ChartScheme+c.Origin {
			entry = imageset.Chart{Path: c.Origin}
			if !slices.ContainsFunc(m.Helm.Local, func(have imageset.Chart) bool { return have.Path == entry.Path }) {
				m.Helm.Local = append(m.Helm.Local, entry)
			}
			continue
		}
		i := slices.IndexFunc(m.Helm.Repositories, func(r imageset.HelmRepository) bool { return r.URL == c.Origin })
		if i < 0 {
			i = len(m.Helm.Repositories)
			m.Helm.Repositories = append(m.Helm.Repositories, imageset.HelmRepository{URL: c.Origin})
		}
		if r := &m.Helm.Repositories[i]; !slices.ContainsFunc(r.Charts, func(have imageset.Chart) bool { return have.Name == c.Name && have.Version == c.Version }) {
			r.Charts = append(r.Charts, entry)
		}
	}
	d.note("add the values, valuesFiles and imagePaths of charts: a plan does not have them")
}
