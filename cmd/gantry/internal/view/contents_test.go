package view

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// longBundle is a bundle of a real catalog, with the longest names in it.
func longBundle() listing.CatalogBundle {
	return listing.CatalogBundle{
		Catalog: "registry.redhat.io/redhat/redhat-operator-index:v4.20", Package: "rabbitmq-messaging-topology-operator", Name: "gatekeeper-operator-product.v3.11.2-0.1725401426.p", Version: "3.11.2+0.1725401426.p",
		Channels: []string{"candidate", "stable-v1.3"}, HeadOf: []string{"stable-v1.3"}, Deprecated: "too old", Images: []string{"a.io/x:1", "a.io/y:1"},
		BundleFacts: listing.BundleFacts{
			InstallModes: []string{"AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"},
			OLMv1:        listing.Installable{Install: listing.Depends, Reasons: []extension.Refusal{{Reason: extension.InstallMode}, {Reason: extension.Webhook}}},
			APIs:         []listing.API{{Group: "cert-manager.io", Version: "v1", Kind: "CertificateRequest"}, {Group: "rabbitmq.com", Version: "v1beta1", Kind: "SuperStream"}},
			Features:     &excerpt.Features{Supported: []string{"disconnected"}, Unsupported: []string{"token-auth-azure"}},
		},
	}
}

// TestContentsFit checks that lists with the longest names of real catalogs fit 80 columns, and that a pipe gets everything.
func TestContentsFit(t *testing.T) {
	t.Parallel()
	b := longBundle()
	stored := contents.Stored{Size: 1 << 31, Here: airgap.Available, At: contents.Partly, Volumes: []contents.Volume{{Sequence: 1, Name: "gantry-000001.0001.tar"}, {Sequence: 1, Name: "gantry-000001.0002.tar"}}}
	channel := listing.CatalogChannel{Catalog: b.Catalog, Package: b.Package, Name: "stable-v1.3", Default: true, Head: b.Name, Bundles: []string{b.Name}, Versions: []string{b.Version, "3.0.0"}}
	lists := map[string]*contents.List{
		"packages": {Packages: []contents.Package{
			{Catalog: b.Catalog, Name: b.Package, DisplayName: "AWS Controllers for Kubernetes - Amazon RDS", DefaultChannel: "stable-v1.3", Head: &b, OLMv1: contents.PreferredBundle{Bundle: b.Name, Installable: b.OLMv1}, Images: b.Images, Stored: stored},
			{Catalog: "other", Place: "file:///media/disk", Name: "a"},
		}},
		"channels": {Channels: []contents.Channel{{CatalogChannel: channel, HeadBundle: &b, Stored: stored}, {Place: "x", CatalogChannel: listing.CatalogChannel{Package: "a"}}}},
		"bundles":  {Bundles: []contents.Bundle{{CatalogBundle: b, Stored: stored}, {Place: "x"}}},
		"catalogs": {Catalogs: []contents.Catalog{{Name: b.Catalog, Image: "mirror.example.com:5000/ocp/redhat/redhat-operator-index:v4.20", Stored: stored}}},
		"images":   {Images: []contents.Image{{Names: []string{"community-operator-pipeline-prod/kube-green:v1"}, Kind: plan.BundleImage, Packages: []string{b.Package}, Source: "quay.io/community-operator-pipeline-prod/kube-green:v1", Stored: stored}}},
		"files":    {Files: []contents.File{{MirroredFile: site.MirroredFile{Name: "rhcos-live.iso", SHA256: digest.FromString("")}, Origin: "https://mirror.example.com/pub/rhcos/rhcos-live.iso", Stored: stored}}},
		"charts":   {Charts: []contents.Chart{{Name: "podinfo", Version: "6.5.0", Origin: "https://charts.example.com/stable", Image: "charts/podinfo:6.5.0", Stored: stored}}},
		"releases": {Releases: []contents.Release{{Version: "4.20.5", Arch: "amd64", Channels: []string{"stable-4.20", "eus-4.20"}, Image: "mirror.example.com:5000/ocp/openshift/release-images:4.20.5-x86_64", Unverified: true, Stored: stored}}},
	}
	for kind, l := range lists {
		for _, wide := range []bool{false, true} {
			for _, width := range []int{80, 100, 120, 200} {
				text := Contents(l, wide, width)
				for line := range strings.Lines(text) {
					if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%s: %d columns: %s", kind, n, line)
					}
				}
				for _, word := range []string{"2.0 GiB", "partly", "yes"} {
					if kind != "files" && !strings.Contains(text, word) {
						t.Errorf("%s of %d columns has no %s:\n%s", kind, width, word, text)
					}
				}
			}
		}
		for _, word := range []string{"gantry-000001.0001.tar, gantry-000001.0002.tar", "2.0 GiB"} {
			if text := Contents(l, false, 0); kind != "files" && !strings.Contains(text, word) {
				t.Errorf("%s in a pipe:\n%s", kind, text)
			}
		}
	}
	fail.Diff(t, `PACKAGE
    VERSION                OLM V1                           SIZE     AT      HERE
rabbitmq-messaging-topology-operator
    3.11.2+0.1725401426.p  depends (install-mode, webhook)  2.0 GiB  partly  yes
`, Contents(&contents.List{Packages: lists["packages"].Packages[:1]}, true, 82))
	fail.Diff(t, "", Contents(&contents.List{Charts: []contents.Chart{}}, false, 80))
}

// TestPlanFits checks that the table of a plan with long names fits 80 columns.
func TestPlanFits(t *testing.T) {
	t.Parallel()
	b := longBundle()
	var out strings.Builder
	kept := []plan.Bundle{{Name: b.Name, Version: b.Version, Reason: "head"}, {Name: "a", Version: "0.2.2", Reason: "continuity", For: b.Name}}
	c := plan.Catalog{Packages: []plan.Package{{Name: b.Package, DefaultChannel: "stable", Channels: []plan.Channel{{Name: "3.11", Head: b.Name, Bundles: kept}, {Name: "stable", Head: b.Name, Bundles: kept[:1]}}}}}
	writeKept(&out, c, map[string]plan.PartSize{b.Package: {Images: 12, Bytes: 1 << 31}}, 80)
	fail.Diff(t, `  PACKAGE
      CHANNEL           VERSIONS                      IMAGES  SIZE
  rabbitmq-messaging-topology-operator
      3.11              0.2.2, 3.11.2+0.1725401426.p  12      2.0 GiB
      stable (default)  3.11.2+0.1725401426.p

`, out.String())
}
