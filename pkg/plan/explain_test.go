package plan

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
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
				Reasons: []Reason{
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v1", Name: "one"},
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v1", Name: "two"},
					{Catalog: "quay.io/org/index:v1", Package: "op", Bundle: "op.v2"},
				},
			},
			{Source: "quay.io/org/operand-extra:v1", Digest: "sha256:bb", Repository: "org/operand-extra", Tags: []string{"v1"}, Reasons: []Reason{{List: "additionalImages"}}},
		},
		Missing: []Missing{{Source: "quay.io/gone/away:v1", Message: "not found", Reasons: []Reason{{List: "additionalImages"}}}},
		Blocked: []Blocked{{Source: "quay.io/bad/one:v1", Pattern: "bad", Reasons: []Reason{{List: "additionalImages"}}}},
	}
	v1 := ExplainedBundle{Catalog: "quay.io/org/index:v1", Package: "op", Name: "op.v1", Version: "1.0.0", Channels: []ChannelReason{{"stable", "installed", "op.v1"}}}
	v2 := ExplainedBundle{Catalog: "quay.io/org/index:v1", Package: "op", Name: "op.v2", Version: "2.0.0", Channels: []ChannelReason{{"fast", "head", ""}, {"stable", "head", ""}}}
	named := v1
	named.ImageNames = []string{"one", "two"}
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
		fail.Diff(t, want, p.Explain(name))
	}
}

func TestExplainReleases(t *testing.T) {
	p := &Plan{
		Releases: []Release{
			{Version: "4.20.1", Arch: "amd64", Product: "ocp", Reasons: []ReleaseReason{{"from", "fast-4.20"}}},
			{Version: "4.20.1", Arch: "arm64", Product: "ocp", Reasons: []ReleaseReason{{"release", ""}}},
			{Version: "4.20.2", Arch: "amd64", Product: "ocp", Reasons: []ReleaseReason{{"path", "fast-4.20"}}},
		},
		Updates: []UpdatePath{{
			Product: "ocp", Arch: "amd64", Channel: "fast-4.20", From: "4.20.1", To: "4.20.2", Hops: []Hop{{From: "4.20.1", To: "4.20.2"}},
		}},
		Images: []Image{
			{
				Source: "quay.io/org/art@sha256:aa", Kind: ComponentImage, Digest: "sha256:aa", Repository: "openshift/release", Tags: []string{"4.20.1-x86_64-cli"},
				Reasons: []Reason{
					{Release: "4.20.1-x86_64", Name: "cli"}, {Release: "4.20.1-x86_64", Name: "tools"},
					{Release: "4.20.2-x86_64", Name: "cli"}, {Release: "4.20.9-x86_64", Name: "cli"},
				},
			},
			{
				Source: "quay.io/org/art:sha256-aa.sig", Kind: SignatureImage, Digest: "sha256:ab", Repository: "openshift/release", Tags: []string{"sha256-aa.sig"},
				Reasons: []Reason{{Release: "4.20.1-x86_64", Name: "cli"}},
			},
			{Source: "quay.io/org/release@sha256:cc", Kind: ReleaseImage, Digest: "sha256:cc", Repository: "openshift/release-images", Reasons: []Reason{{Release: "4.20.1-x86_64"}}},
		},
		Missing: []Missing{{Source: "quay.io/org/art@sha256:dd", Kind: ComponentImage, Message: "not found", Reasons: []Reason{{Release: "4.20.2-x86_64", Name: "etcd"}}}},
	}
	way := []ExplainedPath{{"fast-4.20", "4.20.1", "4.20.2"}}
	first := ExplainedRelease{Name: "4.20.1-x86_64", Reasons: []ReleaseReason{{"from", "fast-4.20"}}, Updates: way}
	arm := ExplainedRelease{Name: "4.20.1-aarch64", Reasons: []ReleaseReason{{"release", ""}}}
	second := ExplainedRelease{Name: "4.20.2-x86_64", Reasons: []ReleaseReason{{"path", "fast-4.20"}}, Updates: way}
	as := func(r ExplainedRelease, names ...string) ExplainedRelease {
		r.ComponentNames = names
		return r
	}
	cli := Explanation{Images: []ExplainedImage{{
		Source: "quay.io/org/art@sha256:aa", Digest: "sha256:aa", Repository: "openshift/release", Tags: []string{"4.20.1-x86_64-cli"},
		Releases: []ExplainedRelease{as(first, "cli", "tools"), as(second, "cli"), {Name: "4.20.9-x86_64", ComponentNames: []string{"cli"}, Reasons: []ReleaseReason{}}},
	}}}
	for name, want := range map[string]Explanation{
		"4.20.1":                              {Releases: []ExplainedRelease{first, arm}},
		"4.20.1-aarch64":                      {Releases: []ExplainedRelease{arm}},
		"4.20.2":                              {Releases: []ExplainedRelease{second}},
		"cli":                                 cli,
		"tools":                               cli,
		"sha256:aa":                           cli,
		"art@sha256:aa":                       cli,
		"openshift/release:4.20.1-x86_64-cli": cli,
		"etcd":                                {Images: []ExplainedImage{{Source: "quay.io/org/art@sha256:dd", Missing: "not found", Releases: []ExplainedRelease{as(second, "etcd")}}}},
		"org/release":                         {Images: []ExplainedImage{{Source: "quay.io/org/release@sha256:cc", Digest: "sha256:cc", Repository: "openshift/release-images", Releases: []ExplainedRelease{first}}}},
		"4.20":                                {},
		"":                                    {},
	} {
		fail.Diff(t, want, p.Explain(name))
	}
}
