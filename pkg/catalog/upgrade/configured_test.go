package upgrade_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// OLM v1 refuses p.v1.1.0, which requires an API of another package. OLM classic does not.
const refusedByV1 = `p.v1.1.0={"type":"olm.gvk.required","value":{"group":"g.example.com","version":"v1","kind":"K"}}`

// TestConfiguredGeneration checks that an operator that a configuration lists is judged by the
// generation of OLM that manages it on the cluster.
func TestConfiguredGeneration(t *testing.T) {
	t.Parallel()
	c := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", refusedByV1,
		`p.v1.0.0={"type":"olm.gvk","value":{"group":"g.example.com","version":"v1","kind":"K"}}`)
	catalogs := []upgrade.Catalog{{Name: "c", Kept: c, Source: c}}
	listed := func(o installed.Operator) []installed.Operator {
		classic, v1 := o, o
		classic.Generation, v1.Generation = graph.Classic, graph.V1
		return []installed.Operator{classic, v1}
	}
	byBundle := listed(installed.Operator{Package: "p", Bundle: "p.v1.0.0"})
	byVersion := listed(installed.Operator{Package: "p", Version: "1.0.0"})
	subscription := classic("1.0.0", "stable")
	subscription.Version = ""
	provider := installed.Operator{
		Generation: graph.Classic, Name: "k.v1.0.0", Namespace: "n", Package: "k", Bundle: "k.v1.0.0", Version: "1.0.0",
		APIs: []installed.API{{Group: "g.example.com", Version: "v1", Kind: "K"}},
	}
	const (
		stranded    = "it stops at p.v1.0.0: OLM v1 chooses p.v1.1.0 next and refuses it"
		otherNote   = " [if OLM v1 managed it, it would be stranded: " + stranded + "]"
		unknownNote = " [the configuration does not contain the generation of OLM; if OLM classic manages it, add its Subscription to the input]"
	)
	for name, tc := range map[string]struct {
		clusters, configured []installed.Operator
		want                 []string
	}{
		"Subscription, listed by bundle":  {[]installed.Operator{subscription}, byBundle, []string{"OLM classic reaches" + otherNote}},
		"Subscription, listed by version": {[]installed.Operator{subscription}, byVersion, []string{"OLM classic reaches" + otherNote}},
		"CSV, listed by bundle":           {[]installed.Operator{classic("1.0.0", "stable")}, byBundle, []string{"OLM classic reaches" + otherNote}},
		"CSV, listed twice":               {[]installed.Operator{classic("1.0.0", "stable")}, slices.Concat(byBundle, byVersion), []string{"OLM classic reaches" + otherNote}},
		"ClusterExtension":                {[]installed.Operator{v1("1.0.0")}, byBundle, []string{"OLM v1 stranded"}},
		"both":                            {[]installed.Operator{classic("1.0.0", "stable"), v1("1.0.0")}, byBundle, []string{"OLM classic reaches", "OLM v1 stranded"}},
		"not listed":                      {[]installed.Operator{classic("1.0.0", "stable")}, nil, []string{"OLM classic reaches"}},
		"another version":                 {[]installed.Operator{classic("1.1.0", "stable")}, byBundle, []string{"OLM classic at-head", "OLM classic reaches", "OLM v1 stranded" + unknownNote}},
		"only listed":                     {nil, byVersion, []string{"OLM classic reaches", "OLM v1 stranded" + unknownNote}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := checked(t, append([]installed.Operator{provider}, tc.clusters...), catalogs, upgrade.Options{Configured: tc.configured})
			var got []string
			for _, r := range report.Operators[1:] {
				line := r.Generation + " " + string(r.Outcome)
				for _, note := range r.Notes {
					if strings.Contains(note, "OLM v1 managed") || strings.Contains(note, "generation of OLM") {
						line += " [" + note + "]"
					}
				}
				got = append(got, line)
			}
			fail.Diff(t, tc.want, got)
		})
	}
}
