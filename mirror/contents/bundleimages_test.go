package contents_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestBundleImages checks what images of bundles add to a catalog that does not show webhooks: of a catalog only if they were
// asked for, of a mirror and a disk always.
func TestBundleImages(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	catalog := ""
	type object = map[string]any
	for name, spec := range map[string]object{
		"hook": {
			"install":            object{"strategy": "deployment", "spec": object{"deployments": []object{{"name": "hook"}}}},
			"webhookdefinitions": []object{{"type": "ValidatingAdmissionWebhook", "generateName": "check.example.com", "deploymentName": "hook"}},
		},
		"plain":  {},
		"single": {"installModes": []object{{"type": "OwnNamespace", "supported": true}}},
		"multi":  {"installModes": []object{{"type": "MultiNamespace", "supported": true}}},
		"serves": {"apiservicedefinitions": object{"owned": []object{{"group": "x.io", "version": "v1", "kind": "X", "name": "xs"}}}},
		"faulty": {"webhookdefinitions": []object{{"type": "MutatingAdmissionWebhook", "generateName": "check.example.com", "deploymentName": "lost"}}},
		"absent": nil,
	} {
		image := "registry.example.com/zoo/" + name + "-bundle:v1"
		if spec != nil {
			content, err := registrytest.BundleImage(name, "1.0.0", spec)
			fail.On(t, err)
			image = s.Push(image, content)
		}
		catalog += fmt.Sprintf(`{"schema":"olm.package","name":%[1]q,"defaultChannel":"stable"}{"schema":"olm.channel","package":%[1]q,"name":"stable","entries":[{"name":"%[1]s.v1.0.0"}]}`+
			`{"schema":"olm.bundle","package":%[1]q,"name":"%[1]s.v1.0.0","image":%[2]q,"properties":[{"type":"olm.package","value":{"packageName":%[1]q,"version":"1.0.0"}},`+
			`{"type":"olm.csv.metadata","value":{"installModes":[{"type":"AllNamespaces","supported":true}]}}]}`, name, image)
	}
	const ref = "registry.example.com/zoo/hooks:v1"
	s.PushCatalog(ref, fstest.MapFS{"catalog.json": {Data: []byte(catalog), Mode: 0o644}})
	config := s.Config("hooks.yaml", "  operators:\n  - catalog: "+ref+"\n    packages: [{name: hook}, {name: multi}, {name: plain}]\n")
	answers := func(o contents.Options) (found []string) {
		t.Helper()
		o.Env, o.Workspace = s.NewEnv(), s.Workspace()
		packages, err := contents.Packages(t.Context(), o)
		fail.On(t, err)
		bundles, err := contents.Bundles(t.Context(), o)
		fail.On(t, err)
		channels, err := contents.Channels(t.Context(), o)
		fail.On(t, err)
		for i, p := range packages.Packages {
			reasons := ""
			for _, r := range p.OLMv1.Reasons {
				reasons += " " + string(r.Reason)
			}
			found = append(found, fmt.Sprintf("%s %s webhooks %s%s", p.Name, p.OLMv1.Install, p.OLMv1.Webhooks, reasons))
			fail.Diff(t, p.OLMv1.Installable, p.Head.OLMv1)
			fail.Diff(t, p.OLMv1.Installable, bundles.Bundles[i].OLMv1)
			fail.Diff(t, p.OLMv1.Installable, channels.Channels[i].HeadBundle.OLMv1)
		}
		return found
	}
	for _, got := range answers(contents.Options{Catalog: []string{ref}}) {
		if !strings.HasSuffix(got, " probably webhooks unknown unknown-webhook") {
			t.Errorf("without images: %s", got)
		}
	}
	fail.Diff(t, []string{
		"absent probably webhooks unknown unknown-webhook", "faulty no webhooks yes webhook invalid-bundle", "hook depends webhooks yes webhook", "multi no webhooks no no-install-mode",
		"plain yes webhooks no", "serves no webhooks no api-service", "single depends webhooks no install-mode",
	}, answers(contents.Options{Catalog: []string{ref}, Sizes: true}))
	if said := strings.Join(s.Said(), "\n"); !strings.Contains(said, "the images of 1 bundle cannot be read, so that their webhooks are unknown: ") {
		t.Errorf("noted %s", said)
	}
	mirrored := []string{"hook depends webhooks yes webhook", "multi no webhooks no no-install-mode", "plain yes webhooks no"}
	mirror := s.Docker("hooks")
	s.Mirrored(config, mirror)
	fail.Diff(t, mirrored, answers(contents.Options{Mirrors: []string{mirror}}))
	fail.Diff(t, mirrored, answers(contents.Options{Archives: []string{s.Exported(config, "disk")}}))
}
