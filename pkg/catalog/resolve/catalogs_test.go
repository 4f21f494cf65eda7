package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// An fbc is a catalog under construction, object by object.
type fbc []string

// pkg adds a package whose channels are written as
// "name: entry<replaced-skipped, entry"; the first is the default.
func (f fbc) pkg(name string, channels ...string) fbc {
	first, _, _ := strings.Cut(channels[0], ":")
	f = append(f, fmt.Sprintf(`{"schema":"olm.package","name":%q,"defaultChannel":%q}`, name, first))
	for _, c := range channels {
		channel, list, _ := strings.Cut(c, ":")
		var entries []map[string]any
		for text := range strings.SplitSeq(list, ",") {
			rest, skipped, _ := strings.Cut(strings.TrimSpace(text), "-")
			entry, replaced, _ := strings.Cut(rest, "<")
			e := map[string]any{"name": entry, "replaces": replaced}
			if skipped != "" {
				e["skips"] = []string{skipped}
			}
			entries = append(entries, e)
		}
		text, _ := json.Marshal(map[string]any{"schema": "olm.channel", "package": name, "name": channel, "entries": entries})
		f = append(f, string(text))
	}
	return f
}

// bundle adds a bundle PACKAGE.vVERSION; properties are written as "type value".
func (f fbc) bundle(pkg, version string, properties ...string) fbc {
	all := []string{fmt.Sprintf(`{"type":"olm.package","value":{"packageName":%q,"version":%q}}`, pkg, version)}
	for _, p := range properties {
		kind, value, _ := strings.Cut(p, " ")
		all = append(all, fmt.Sprintf(`{"type":%q,"value":%s}`, kind, value))
	}
	return append(f, fmt.Sprintf(`{"schema":"olm.bundle","package":%q,"name":"%s.v%s","image":"r.example/%s:%s","properties":[%s]}`,
		pkg, pkg, version, pkg, version, strings.Join(all, ",")))
}

// one adds a package with one channel and one bundle of version 1.0.0.
func (f fbc) one(pkg string, properties ...string) fbc {
	return f.pkg(pkg, "stable: "+pkg+".v1.0.0").bundle(pkg, "1.0.0", properties...)
}

func (f fbc) read(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(strings.Join(f, "\n"))}}, catalog.Options{})
	fail.On(t, err)
	return c
}

func provides(kind string) string { return gvk("olm.gvk", kind) }
func requires(kind string) string { return gvk("olm.gvk.required", kind) }
func gvk(property, kind string) string {
	return fmt.Sprintf(`%s {"group":"g.example","version":"v1","kind":%q}`, property, kind)
}

func requiresPackage(name, versions string) string {
	return fmt.Sprintf(`olm.package.required {"packageName":%q,"versionRange":%q}`, name, versions)
}

func constraint(value string) string { return "olm.constraint " + value }

func cel(rule string) string {
	text, _ := json.Marshal(map[string]any{"cel": map[string]string{"rule": rule}})
	return constraint(string(text))
}

// cut reduces a catalog to the bundles with these names.
func cut(whole *catalog.Catalog, names ...string) *catalog.Catalog {
	kept := &catalog.Catalog{}
	for _, p := range slices.Concat(whole.Packages, whole.Outlines) {
		q := &catalog.Package{Name: p.Name, DefaultChannel: p.DefaultChannel}
		for _, b := range p.Bundles {
			if slices.Contains(names, b.Name) {
				q.Bundles = append(q.Bundles, b)
			}
		}
		for _, c := range p.Channels {
			d := &catalog.Channel{Package: c.Package, Name: c.Name}
			for _, e := range c.Entries {
				if slices.Contains(names, e.Name) {
					d.Entries = append(d.Entries, e)
				}
			}
			if len(d.Entries) > 0 {
				q.Channels = append(q.Channels, d)
			}
		}
		if len(q.Bundles) > 0 {
			kept.Packages = append(kept.Packages, q)
		}
	}
	return kept
}

// refs returns the additions, as "CATALOG CHANNEL BUNDLE".
func refs(additions []resolve.Addition) []string {
	return elements.Map(additions, func(a resolve.Addition) string { return a.Catalog + " " + a.Channel + " " + a.Bundle })
}

// closure repeats until nothing is added, as a plan does.
func closure(t *testing.T, catalogs []resolve.Catalog, kept map[string][]string) (all []resolve.Addition, last resolve.Result) {
	t.Helper()
	for range 20 {
		for i, c := range catalogs {
			catalogs[i].Kept = cut(c.Original, kept[c.Name]...)
		}
		last = resolve.Dependencies(catalogs, all)
		if len(last.Additions) == 0 {
			return all, last
		}
		for _, a := range last.Additions {
			kept[a.Catalog] = append(kept[a.Catalog], a.Bundle)
		}
		all = append(all, last.Additions...)
	}
	t.Fatal("there is no end of additions")
	return nil, last
}
