package registry

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/chart"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// releaseRepository is where the images of OpenShift's releases are.
const releaseRepository = "quay.io/openshift-release-dev/ocp-release"

// examineConfiguration looks at the sources of a configuration: one repository of each registry, the update
// services of release channels, chart repositories, and files.
func (d *examination) examineConfiguration(ctx context.Context, m imageset.Mirror) error {
	conf, err := env.RegistriesConf(d.env)
	if err != nil {
		return err
	}
	for _, ref := range registriesOf(m, conf) {
		if err := d.examineSource(ctx, ref); err != nil {
			return err
		}
	}
	if err := d.examineUpdateServices(ctx, m.Platform); err != nil {
		return err
	}
	if m.Helm != nil {
		for _, r := range m.Helm.Repositories {
			if strings.HasPrefix(r.URL, "http://") || strings.HasPrefix(r.URL, "https://") {
				if err := d.examineChartRepository(ctx, r.URL); err != nil {
					return err
				}
			}
		}
		for _, c := range m.Helm.Local {
			for _, path := range append([]string{c.Path}, c.ValuesFiles...) {
				if err := d.examinePath(ctx, path); err != nil {
					return err
				}
			}
		}
	}
	for _, f := range m.Files {
		var err error
		if f.URL != "" {
			err = d.examineAddress(ctx, f.URL)
		} else {
			err = d.examinePath(ctx, f.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// registriesOf returns one reference of each registry that a configuration names, and of each list of registries that
// registries.conf has for it.
func registriesOf(m imageset.Mirror, conf *registries.Config) (all []reference.Reference) {
	names := elements.Map(m.Operators, func(c imageset.Operator) string { return c.Catalog })
	for _, i := range m.AdditionalImages {
		names = append(names, i.Name)
	}
	if p := m.Platform; p != nil {
		if p.Release != "" {
			names = append(names, p.Release)
		}
		if slices.ContainsFunc(p.Channels, func(c imageset.ReleaseChannel) bool { return c.Product == release.OCP }) {
			names = append(names, releaseRepository)
		}
	}
	if m.Helm != nil {
		for _, r := range m.Helm.Repositories {
			if parent, ok := strings.CutPrefix(r.URL, "oci://"); ok {
				for _, c := range r.Charts {
					names = append(names, strings.TrimSuffix(parent, "/")+"/"+c.Name)
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		ref, err := reference.Parse(name)
		if err != nil || strings.Contains(name, "://") {
			continue // a folder or layout
		}
		if key := readFrom(conf, ref); !seen[key] {
			seen[key] = true
			all = append(all, ref)
		}
	}
	return all
}

// readFrom returns the hosts that a reference is read from, and its own.
func readFrom(conf *registries.Config, ref reference.Reference) string {
	hosts := []string{ref.Host}
	list, err := conf.Sources(ref)
	if ref.Identifier() == "" {
		list, err = conf.BlobSources(ref)
	}
	if err != nil {
		hosts = append(hosts, "blocked")
	}
	for _, e := range list {
		hosts = append(hosts, e.Reference.Host)
	}
	return strings.Join(hosts, " ")
}

// examineUpdateServices requests the graph of one channel of each product.
func (d *examination) examineUpdateServices(ctx context.Context, p *imageset.Releases) error {
	if p == nil || len(p.Channels) == 0 {
		return nil
	}
	client, err := d.env.Client(remote.Source)
	if err != nil {
		return err
	}
	service := updates.NewUpdates(d.env, client, p, updates.ReleaseTrust{})
	seen := map[release.Product]bool{}
	for _, c := range p.Channels {
		if seen[c.Product] {
			continue
		}
		seen[c.Product] = true
		g, from, err := service.Graph(ctx, c.Product, c.Name, p.Arches()[0])
		if err != nil {
			err = d.problem(ctx, "configuration", "channel "+c.Name, err)
		} else {
			d.add(doctor.Finding{Area: "configuration", Name: "channel " + c.Name, State: doctor.OK, Text: env.Number(len(g.Nodes), "release", "releases") + " at " + updates.ShownAddress(from.URL)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// examineChartRepository reads the index of a chart repository.
func (d *examination) examineChartRepository(ctx context.Context, address string) error {
	client, err := d.env.Client(remote.Source)
	if err != nil {
		return err
	}
	repositories := &planning.ChartRepositories{Client: client, Indexes: map[string]*chart.Index{}}
	if _, err := repositories.Index(ctx, address); err != nil {
		return d.problem(ctx, "configuration", updates.ShownAddress(address), err)
	}
	d.add(doctor.Finding{Area: "configuration", Name: updates.ShownAddress(address), State: doctor.OK, Text: "the index of the chart repository was read"})
	return nil
}

// examineAddress looks for a file at an http or https address, without reading it.
func (d *examination) examineAddress(ctx context.Context, address string) error {
	client, err := d.env.Client(remote.Source)
	if err != nil {
		return err
	}
	shown := updates.ShownAddress(address)
	if _, err := client.WebSize(ctx, address); err != nil {
		return d.problem(ctx, "configuration", shown, err)
	}
	d.add(doctor.Finding{Area: "configuration", Name: shown, State: doctor.OK, Text: "the file is there"})
	return nil
}

// examinePath looks for a local file or folder.
func (d *examination) examinePath(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return d.problem(ctx, "configuration", path, env.InputHint(selection.CheckPath, "%w", err))
	}
	d.add(doctor.Finding{Area: "configuration", Name: path, State: doctor.OK, Text: "it is there"})
	return nil
}
