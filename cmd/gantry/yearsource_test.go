package main

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A weeklyPackage is an operator package with one channel, whose bundles appear and disappear from week
// to week.
type weeklyPackage struct {
	name    string
	bundles []weeklyBundle // the oldest first; each replaces the one before
}

type weeklyBundle struct {
	name   string
	text   string // the olm.bundle, as YAML
	entry  string // of the channel, as YAML
	images []string
}

// window returns which bundles the package has in a week: a few of the newest of that time. Some weeks,
// the newest one is withdrawn; in others, all earlier ones are restored. Every seventh week is like the
// week before.
func (p *weeklyPackage) window(week int) []weeklyBundle {
	if week%7 == 0 {
		week--
	}
	n := len(p.bundles)
	end := min(n, 3+week*(n-3)/45)
	if week%9 == 4 {
		end--
	}
	begin := max(0, end-3-week%3)
	if week%13 == 6 {
		begin = 0
	}
	return p.bundles[begin:end]
}

// weeklyCatalog is the text of the catalog in a week.
func weeklyCatalog(packages []*weeklyPackage, week int) fstest.MapFS {
	catalog := fstest.MapFS{}
	for _, p := range packages {
		text := "schema: olm.package\nname: " + p.name + "\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\npackage: " + p.name + "\nentries:\n"
		for _, b := range p.window(week) {
			text += b.entry
		}
		for _, b := range p.window(week) {
			text += "---\n" + b.text
		}
		catalog[p.name+"/catalog.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return catalog
}

// inventWeeklyPackage pushes the images of an invented package to the source.
func (w *fixture) inventWeeklyPackage(name string, versions int) *weeklyPackage {
	w.t.Helper()
	p := &weeklyPackage{name: name}
	push := func(repository string, content registrytest.Content, err error) string {
		fail.On(w.t, err)
		d, err := w.source.Client().Push(w.t.Context(), repository, "latest", content)
		fail.On(w.t, err)
		return "vendor.example.com/" + repository + "@" + d.String()
	}
	for i := range versions {
		version := fmt.Sprintf("1.%d.0", i)
		bundle, err := registrytest.BundleImage(name, version)
		b := weeklyBundle{name: name + ".v" + version, images: []string{push("weekly/"+name+"-bundle", bundle, err)}}
		index, err := registrytest.Index(name + version)
		b.images = append(b.images, push("weekly/"+name, index, err))
		shared, err := registrytest.Index(fmt.Sprint(name, "shared", i/4))
		b.images = append(b.images, push("weekly/base", shared, err))
		b.entry = "- name: " + b.name + "\n"
		if i > 0 {
			b.entry += "  replaces: " + p.bundles[i-1].name + "\n"
		}
		b.text = fmt.Sprintf("schema: olm.bundle\nname: %s\npackage: %s\nimage: %s\nproperties:\n- type: olm.package\n  value: {packageName: %s, version: %s}\nrelatedImages:\n", b.name, name, b.images[0], name, version)
		for _, img := range b.images {
			b.text += "- {name: '', image: '" + img + "'}\n"
		}
		p.bundles = append(p.bundles, b)
	}
	return p
}

// weeklyImages are the images that packages have in a week, sorted, each once.
func weeklyImages(t *testing.T, packages []*weeklyPackage, week int) []reference.Reference {
	t.Helper()
	var texts []string
	for _, p := range packages {
		for _, b := range p.window(week) {
			texts = append(texts, b.images...)
		}
	}
	slices.Sort(texts)
	var refs []reference.Reference
	for _, text := range slices.Compact(texts) {
		ref, err := reference.Parse(text)
		fail.On(t, err)
		refs = append(refs, ref)
	}
	return refs
}
