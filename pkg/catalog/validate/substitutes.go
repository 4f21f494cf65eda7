package validate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// substitutesFor is the annotation of a ClusterServiceVersion with the bundle whose place it takes. Catalogs that are built
// from bundles follow it from bundle to bundle, so that opm rejects a cycle since July 2026 (operator-registry f9556d7a);
// before, it ran out of memory.
const substitutesFor = "olm.substitutesFor"

// encodedSubstitutesFor returns what base64 makes of the annotation, by its position in a manifest.
func encodedSubstitutesFor() []string {
	var all []string
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), substitutesFor...))
		all = append(all, text[(before*8+5)/6:(before+len(substitutesFor))*8/6])
	}
	return all
}

// substituted returns the bundle whose place a bundle takes, "" if there is none.
func substituted(b *catalog.Bundle, encoded []string) string {
	for _, p := range b.Properties {
		text := p.Value
		switch p.Type {
		case "olm.csv.metadata":
			if bytes.Contains(text, []byte(substitutesFor)) {
				var metadata struct{ Annotations map[string]string }
				if json.Unmarshal(text, &metadata) == nil {
					return metadata.Annotations[substitutesFor]
				}
			}
		case "olm.bundle.object":
			if slices.ContainsFunc(encoded, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
				var object struct{ Data []byte }
				var manifest struct {
					Kind     string
					Metadata struct{ Annotations map[string]string }
				}
				if json.Unmarshal(text, &object) == nil && json.Unmarshal(object.Data, &manifest) == nil && manifest.Kind == "ClusterServiceVersion" {
					return manifest.Metadata.Annotations[substitutesFor]
				}
			}
		}
	}
	return ""
}

// cycles reports each cycle of bundles that take the place of each other, once.
func (r *report) cycles(p *catalog.Package, places map[*catalog.Bundle]string) {
	next := map[string]string{}
	for _, b := range p.Bundles {
		if places[b] != "" {
			next[b.Name] = places[b]
		}
	}
	done := map[string]bool{}
	for _, b := range p.Bundles {
		var path []string
		name := b.Name
		for ; next[name] != "" && !done[name]; name = next[name] {
			done[name] = true
			path = append(path, name)
		}
		if i := slices.Index(path, name); i >= 0 {
			r.add(SubstituteCycle, b.Meta, "package %q: bundles substitute each other in a cycle (%s): %s", p.Name, substitutesFor, strings.Join(append(path[i:], name), " -> "))
		}
	}
}
