package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A weeklyPackage is an operator package with one channel, whose bundles appear and disappear from week
// to week.
type weeklyPackage struct {
	name    string
	first   string // the olm.package, as YAML
	channel map[string]any
	bundles []weeklyBundle // the oldest first; each replaces the one before
}

type weeklyBundle struct {
	name   string
	text   string // the olm.bundle, as YAML
	images []string
	entry  any // of the channel
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
func weeklyCatalog(t *testing.T, packages []*weeklyPackage, week int) fstest.MapFS {
	t.Helper()
	catalog := fstest.MapFS{}
	for _, p := range packages {
		var entries []any
		texts := []string{p.first, ""}
		for _, b := range p.window(week) {
			entries = append(entries, b.entry)
			texts = append(texts, b.text)
		}
		p.channel["entries"] = entries
		channel, err := yaml.Marshal(p.channel)
		if err != nil {
			t.Fatal(err)
		}
		texts[1] = string(channel)
		catalog[p.name+"/catalog.yaml"] = &fstest.MapFile{Data: []byte(strings.Join(texts, "\n---\n"))}
	}
	return catalog
}

// readWeeklyPackage reads a real package, whose only channel is linear.
func readWeeklyPackage(t *testing.T, file string) *weeklyPackage {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &weeklyPackage{name: filepath.Base(filepath.Dir(file))}
	bundles := map[string]weeklyBundle{}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var meta struct {
			Schema, Name, Image string
			RelatedImages       []struct{ Image string }
		}
		if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
			t.Fatal(err)
		}
		switch meta.Schema {
		case "olm.package":
			p.first = doc
		case "olm.channel":
			if err := yaml.Unmarshal([]byte(doc), &p.channel); err != nil {
				t.Fatal(err)
			}
		case "olm.bundle":
			b := weeklyBundle{name: meta.Name, text: doc, images: []string{meta.Image}}
			for _, img := range meta.RelatedImages {
				if img.Image != "" {
					b.images = append(b.images, img.Image)
				}
			}
			bundles[meta.Name] = b
		}
	}
	entries, _ := p.channel["entries"].([]any)
	next := map[string]map[string]any{} // by what it replaces
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		replaces, _ := entry["replaces"].(string)
		if bundles[replaces].name == "" {
			replaces = ""
		}
		next[replaces] = entry
	}
	for at := ""; next[at] != nil; {
		entry := next[at]
		at, _ = entry["name"].(string)
		b := bundles[at]
		b.entry = entry
		p.bundles = append(p.bundles, b)
	}
	if len(p.bundles) < 8 {
		t.Fatalf("%s has %d bundles in a line", file, len(p.bundles))
	}
	return p
}

// inventWeeklyPackage pushes the images of an invented package to the source.
func (w *fixture) inventWeeklyPackage(name string, versions int) *weeklyPackage {
	w.t.Helper()
	p := &weeklyPackage{
		name: name, first: "schema: olm.package\nname: " + name + "\ndefaultChannel: stable\n",
		channel: map[string]any{"schema": "olm.channel", "name": "stable", "package": name},
	}
	push := func(repository string, content registrytest.Content, err error) string {
		if err != nil {
			w.t.Fatal(err)
		}
		d, err := w.source.Client().Push(w.t.Context(), repository, "latest", content)
		if err != nil {
			w.t.Fatal(err)
		}
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
		entry := map[string]any{"name": b.name}
		if i > 0 {
			entry["replaces"] = p.bundles[i-1].name
		}
		b.entry = entry
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
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	return refs
}
