package listing_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// TestReadFacts checks what is read of bundles: whether OLM v1 installs them, and why not.
func TestReadFacts(t *testing.T) {
	t.Parallel()
	text := `{"schema":"olm.package","name":"kite","defaultChannel":"stable"}
{"schema":"olm.deprecations","package":"kite","entries":[{"reference":{"schema":"olm.bundle","name":"kite.v5.0.0"},"message":"old"}]}
`
	entries := ""
	for i, properties := range []string{
		`{"type":"olm.csv.metadata","value":{"displayName":"Kite","installModes":[{"type":"AllNamespaces","supported":true}]}},{"type":"olm.gvk","value":{"group":"x.io","version":"v1","kind":"Kite"}},{"type":"olm.gvk","value":{"group":"x.io","version":"v1","kind":"Kite"}}`,
		`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"OwnNamespace","supported":true}]}}`,
		`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"OwnNamespace","supported":true}]}},{"type":"olm.package.required","value":{"packageName":"x","versionRange":">1"}}`,
		`{"type":"other","value":{}}`,
		`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}]}}`,
	} {
		name := fmt.Sprintf("kite.v%d.0.0", i+1)
		entries += fmt.Sprintf(`{"name":%q},`, name)
		text += fmt.Sprintf(`{"schema":"olm.bundle","package":"kite","name":%q,"image":"r.example.com/kite:%d","relatedImages":[{"image":"r.example.com/kite:%d"},{"image":""},{"image":"r.example.com/tail:1"}],"properties":[{"type":"olm.package","value":{"packageName":"kite","version":"%d.0.0"}},%s]}`+"\n", name, i, i, i+1, properties)
	}
	text += `{"schema":"olm.channel","package":"kite","name":"stable","entries":[` + entries[:len(entries)-1] + `]}`
	read := func(ctx context.Context, o catalog.Options) (*catalog.Catalog, error) {
		return catalog.Read(ctx, fstest.MapFS{"catalog.json": {Data: []byte(text)}}, o)
	}
	all, names, err := listing.ReadFacts(t.Context(), "c", read, nil)
	fail.On(t, err)
	fail.Diff(t, []string{"kite"}, names)
	p := all[0]
	var got []string
	for _, b := range p.Bundles {
		reasons := ""
		for _, r := range b.OLMv1.Reasons {
			reasons += " " + string(r.Reason)
		}
		got = append(got, fmt.Sprintf("%s %s%s %v %v %v", b.Version, b.OLMv1.Install, reasons, b.InstallModes, b.APIs, b.Images))
	}
	const tail = " r.example.com/tail:1]"
	fail.Diff(t, []string{
		"5.0.0 probably unknown-webhook [AllNamespaces] [] [r.example.com/kite:4" + tail,
		"4.0.0 unknown no-excerpt [] [] [r.example.com/kite:3" + tail,
		"3.0.0 no dependency install-mode [OwnNamespace] [] [r.example.com/kite:2" + tail,
		"2.0.0 depends install-mode unknown-webhook [OwnNamespace] [] [r.example.com/kite:1" + tail,
		"1.0.0 probably unknown-webhook [AllNamespaces] [Kite.x.io/v1] [r.example.com/kite:0" + tail,
	}, got)
	// OLM v1 does not prefer the deprecated bundle.
	if p.V1 != "kite.v4.0.0" || p.DefaultHead() == nil || p.Bundle("kite.v5.0.0").Deprecated != "old" || p.Bundle("kite.v9") != nil {
		t.Errorf("the package is %+v", p)
	}
	none, names, err := listing.ReadFacts(t.Context(), "c", read, func(string) bool { return false })
	if err != nil || len(none) != 0 || len(names) != 1 {
		t.Errorf("of no package, %v, %v, %v", none, names, err)
	}
}

// TestUseImage answers again from the manifests of bundles: like OLM v1, with the dependencies of the catalog.
func TestUseImage(t *testing.T) {
	t.Parallel()
	object := func(manifest string) catalog.Property {
		return catalog.Property{Type: "olm.bundle.object", Value: fmt.Appendf(nil, `{"data":%q}`, base64.StdEncoding.EncodeToString([]byte(manifest)))}
	}
	const csv = `{"kind":"ClusterServiceVersion","spec":{"installModes":[{"type":"AllNamespaces","supported":true}],"install":{"strategy":"deployment","spec":{"deployments":[{"name":"kite"}]}},"webhookdefinitions":[%s]}}`
	for hook, want := range map[string]string{
		"": "yes no", `{"type":"MutatingAdmissionWebhook","generateName":"k.x.io","deploymentName":"kite"}`: "depends yes",
		`{"type":"MutatingAdmissionWebhook","generateName":"k.x.io","deploymentName":"tail"}`: "no yes",
	} {
		f := listing.BundleFacts{OLMv1: listing.Installable{Install: listing.Probably, Webhooks: listing.Unknown}}
		if !f.NeedsImage() {
			t.Error("webhooks are unknown, but the image is not needed")
		}
		fail.On(t, f.UseImage(&catalog.Bundle{Image: "r.example.com/kite:1", Properties: []catalog.Property{object(fmt.Sprintf(csv, hook))}}))
		if got := fmt.Sprint(f.OLMv1.Install, " ", f.OLMv1.Webhooks); got != want || f.NeedsImage() {
			t.Errorf("with %q: %s, want %s", hook, got, want)
		}
	}
	f := listing.BundleFacts{OLMv1: listing.Installable{Install: listing.No, Webhooks: listing.Unknown, Reasons: []extension.Refusal{{Reason: extension.Dependency}, extension.HiddenWebhooks()}}}
	fail.On(t, f.UseImage(&catalog.Bundle{Image: "r.example.com/kite:1", Properties: []catalog.Property{object(fmt.Sprintf(csv, ""))}}))
	if f.OLMv1.Install != listing.No || len(f.OLMv1.Reasons) != 1 {
		t.Errorf("with a dependency in the catalog: %+v", f.OLMv1)
	}
	if err := f.UseImage(&catalog.Bundle{Image: "r.example.com/kite:1"}); err == nil || f.OLMv1.Install != listing.No {
		t.Errorf("without manifests: %v", err)
	}
}
