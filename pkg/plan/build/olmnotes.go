package build

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
)

// maxSingleNotes is the number of packages up to which each gets its own note for a reason. More packages share one note.
const maxSingleNotes = 2

// notesOnOLMv1 returns notes on packages of a filtered catalog that OLM v1 does not install, or that
// the catalog does not describe sufficiently, by reason.
func notesOnOLMv1(name string, c *catalog.Catalog) []string {
	var notes []string
	found := map[extension.Reason][]string{}
	messages := map[extension.Reason][]string{}
	for _, p := range c.Packages {
		for _, f := range extension.Review(p) {
			found[f.Reason] = append(found[f.Reason], p.Name)
			messages[f.Reason] = append(messages[f.Reason], f.Message)
		}
	}
	for _, kind := range []struct {
		reason extension.Reason
		what   string
	}{
		{extension.Dependency, "declare dependencies, which OLM v1 refuses"},
		{extension.InstallMode, "do not support AllNamespaces, which OLM v1 refuses unless a feature gate lets it watch one namespace"},
		{extension.NoInstallMode, "support no install mode of OLM v1, which refuses them"},
		{extension.Webhook, "define webhooks, which OLM v1 refuses before OpenShift 4.21 (operator-controller 1.6)"},
		{extension.APIService, "bring an extension API server, which OLM v1 refuses"},
		{extension.NoImage, "have bundles without an image, which OLM v1 cannot install"},
		{extension.NoExcerpt, "have bundles without a ClusterServiceVersion in the catalog: consoles do not show them, and it is unknown whether OLM v1 installs them"},
	} {
		packages := found[kind.reason]
		if len(packages) > maxSingleNotes {
			notes = append(notes, fmt.Sprintf("%s: %d packages %s: %s", name, len(packages), kind.what, strings.Join(packages, ", ")))
			continue
		}
		for _, m := range messages[kind.reason] {
			notes = append(notes, name+": "+m)
		}
	}
	return notes
}
