package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// shownObjects is how many objects a line names.
const shownObjects = 5

// PlannedResources returns what a run would change in the cluster resources, or "" if nothing.
func PlannedResources(f *cluster.ResourceFiles) string {
	var b strings.Builder
	if f == nil || f.Objects == nil || !f.Objects.Any() {
		return ""
	}
	fmt.Fprintf(&b, "Cluster resources that a run would change in %s:\n", f.Dir)
	writeIf(&b, first(f.Objects), "  %s\n", objects(f.Objects.Added, "added"))
	writeObjects(&b, f.Objects)
	writeNodes(&b, f)
	writeAll(&b, "  note: %s\n", f.Notes)
	return b.String()
}

// first reports whether the changes are those of a first run.
func first(c *resources.Changes) bool {
	return len(c.Changed)+len(c.Removed)+len(c.NotApplied)+len(c.Settings)+c.Unchanged == 0
}

// writeObjects writes which objects of a cluster the manifests add, replace and no longer have, and
// what to run for the last. The objects of a first run are not listed.
func writeObjects(b *strings.Builder, c *resources.Changes) {
	if c == nil || first(c) {
		return
	}
	writeIf(b, len(c.Added) > 0, "  %s\n", objects(c.Added, "added"))
	writeIf(b, len(c.Changed) > 0, "  %s\n", objects(c.Changed, "changed"))
	renamed := map[resources.ObjectName]bool{}
	for _, r := range c.Renamed {
		renamed[r.From] = true
		fmt.Fprintf(b, "  %s is now called %s; after oc apply", r.From, r.To.Name)
		if r.From.Kind == "CatalogSource" {
			fmt.Fprintf(b, ", change the Subscriptions and delete the old one:\n    %s\n", moveSubscriptions(r))
		} else {
			b.WriteString(", change ClusterExtensions that select it by name, and delete the old one:\n")
		}
		writeDelete(b, []resources.ObjectName{r.From})
	}
	gone := slices.DeleteFunc(slices.Clone(c.Removed), func(n resources.ObjectName) bool { return renamed[n] })
	if len(gone) > 0 {
		fmt.Fprintf(b, "  %s; in clusters that have %s:\n", objects(gone, "removed"), plural(len(gone), "it", "them"))
		writeDelete(b, gone)
	}
	if len(c.NotApplied) > 0 {
		rest := plural(len(c.NotApplied), "clusters that have it keep it until it is deleted", "clusters that have them keep them until they are deleted")
		fmt.Fprintf(b, "  %s; %s:\n", objects(c.NotApplied, "no longer applied"), rest)
		writeDelete(b, c.NotApplied)
	}
	writeSettings(b, c.Settings)
}

// writeSettings writes the commands that set objects of clusters back.
func writeSettings(b *strings.Builder, settings []resources.Setting) {
	if len(settings) == 0 {
		return
	}
	names := elements.Map(settings, func(s resources.Setting) resources.ObjectName { return s.ObjectName })
	fmt.Fprintf(b, "  %s; clusters keep the settings until they are set back:\n", objects(names, "no longer changed"))
	for _, s := range settings {
		writeIf(b, s.Patch != "", "    oc patch %s %s --type merge -p %s\n", s.Resource(), s.Name, ShellWord(s.Patch))
	}
}

// writeNodes writes what applying changed objects does to nodes.
func writeNodes(b *strings.Builder, f *cluster.ResourceFiles) {
	if f.Objects == nil || !f.Objects.Any() || f.Nodes == nil {
		return
	}
	switch f.Nodes.Effect {
	case resources.NodesDrain:
		fmt.Fprintf(b, "  nodes will drain one after another, without a reboot: %s\n", f.Nodes.Reason)
	case resources.NodesReload:
		b.WriteString("  nodes will reload CRI-O, without a drain or reboot\n")
	default:
		b.WriteString("  nodes will neither drain nor reboot\n")
	}
}

// objects returns "2 objects changed: A, B".
func objects(names []resources.ObjectName, what string) string {
	shown := elements.Map(names[:min(len(names), shownObjects)], resources.ObjectName.String)
	return fmt.Sprintf("%s %s: %s", Number(len(names), "object", "objects"), what, strings.Join(shown, ", ")) +
		textIf(len(names) > len(shown), " and %d more", len(names)-len(shown))
}

// writeDelete writes a command for each kind and namespace.
func writeDelete(b *strings.Builder, names []resources.ObjectName) {
	for i := 0; i < len(names); {
		n := names[i]
		fmt.Fprintf(b, "    oc delete %s", strings.ToLower(n.Kind))
		writeIf(b, n.Namespace != "", " -n %s", n.Namespace)
		for ; i < len(names) && names[i].Kind == n.Kind && names[i].Namespace == n.Namespace; i++ {
			b.WriteString(" " + names[i].Name)
		}
		b.WriteString("\n")
	}
}

// moveSubscriptions returns the command that makes Subscriptions use a renamed CatalogSource.
func moveSubscriptions(r resources.RenamedObject) string {
	return fmt.Sprintf(`oc get subscriptions.operators.coreos.com -A -o jsonpath='{range .items[?(@.spec.source=="%s")]}{.metadata.namespace} {.metadata.name}{"\n"}{end}' | `+
		`while read -r ns name; do oc patch subscriptions.operators.coreos.com "$name" -n "$ns" --type merge -p '{"spec":{"source":"%s","sourceNamespace":"%s"}}'; done`,
		r.From.Name, r.To.Name, r.To.Namespace)
}
