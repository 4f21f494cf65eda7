package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplain(t *testing.T) {
	p := &Plan{
		Catalogs: []Catalog{{Source: "quay.io/org/index:v1", Packages: []Package{{Name: "op", Channels: []Channel{
			{Name: "fast", Bundles: []Bundle{{Name: "op.v2", Version: "2.0.0", Reason: "head"}}},
			{Name: "stable", Bundles: []Bundle{
				{Name: "op.v1", Version: "1.0.0", Reason: "installed", For: "op.v1"}, {Name: "op.v2", Version: "2.0.0", Reason: "head"},
			}},
		}}}}},
		Images: []Image{
			{
				Source: "quay.io/org/operand@sha256:aa", Digest: "sha256:aa", Repository: "org/operand", Tags: []string{"sha256-aa"}, Size: 7,
				Because: []Because{
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v1", Name: "one"},
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v1", Name: "two"},
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v2"},
				},
			},
			{Source: "quay.io/org/operand-extra:v1", Digest: "sha256:bb", Repository: "org/operand-extra", Tags: []string{"v1"}, Because: []Because{{List: "additionalImages"}}},
		},
		Missing: []Missing{{Source: "quay.io/gone/away:v1", Reason: "not found", Because: []Because{{List: "additionalImages"}}}},
		Blocked: []Blocked{{Source: "quay.io/bad/one:v1", Pattern: "bad", Because: []Because{{List: "additionalImages"}}}},
	}
	v1 := ExplainedBundle{Catalog: "quay.io/org/index:v1", Package: "op", Name: "op.v1", Version: "1.0.0", Channels: []Kept{{"stable", "installed", "op.v1"}}}
	v2 := ExplainedBundle{Catalog: "quay.io/org/index:v1", Package: "op", Name: "op.v2", Version: "2.0.0", Channels: []Kept{{"fast", "head", ""}, {"stable", "head", ""}}}
	named := v1
	named.As = []string{"one", "two"}
	operand := Explanation{Images: []ExplainedImage{{
		Source: "quay.io/org/operand@sha256:aa", Digest: "sha256:aa", Repository: "org/operand", Tags: []string{"sha256-aa"}, Size: 7,
		Bundles: []ExplainedBundle{named, v2},
	}}}
	extra := ExplainedImage{Source: "quay.io/org/operand-extra:v1", Digest: "sha256:bb", Repository: "org/operand-extra", Tags: []string{"v1"}, Lists: []string{"additionalImages"}}
	for name, want := range map[string]Explanation{
		"op.v2":                         {Bundles: []ExplainedBundle{v2}},
		"op":                            {Bundles: []ExplainedBundle{v2, v1}},
		"operand":                       operand,
		"org/operand":                   operand,
		"quay.io/org/operand@sha256:aa": operand,
		"sha256:aa":                     operand,
		"org/operand:sha256-aa":         operand,
		"operand-extra:v1":              {Images: []ExplainedImage{extra}},
		"away":                          {Images: []ExplainedImage{{Source: "quay.io/gone/away:v1", Missing: "not found", Lists: []string{"additionalImages"}}}},
		"bad/one":                       {Images: []ExplainedImage{{Source: "quay.io/bad/one:v1", Blocked: "bad", Lists: []string{"additionalImages"}}}},
		"rand":                          {},
		"":                              {},
	} {
		if diff := cmp.Diff(want, p.Explain(name)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}
