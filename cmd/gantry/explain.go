package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/suggest"
	"github.com/gantry-mirror/gantry/plan"
)

// explainFlags are those of gantry explain.
type explainFlags struct {
	plan, workspace, form string
}

func (a *app) explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain {IMAGE | BUNDLE | PACKAGE | RELEASE | COMPONENT}",
		Short: "Say why an image, a bundle or a release is in a plan",
		Long: `Explain prints who asks for an image, a bundle or a package's bundles: the catalog,
the package, the channels that keep the bundle, and for which reason; of a platform
release, named by its version, the channels and the update paths that it was taken
for. An image is named by its source or a part of it, by digest, by its place in the
mirror, or by what releases call it.

The plan is that of --plan, or the one plan of the workspace.

` + exitStatusHelp,
		Example: `  gantry explain my-operator.v1.2.0
  gantry explain registry.redhat.io/ubi9/ubi:latest --plan plan.json
  gantry explain sha256:4a43... -o json
  gantry explain 4.20.1
  gantry explain etcd`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(f, args[0]) },
	}
	c.Flags().StringVar(&f.plan, "plan", "", "plan to look into, as gantry plan -o wrote it")
	c.Flags().StringVar(&f.workspace, "workspace", defaultWorkspace, "folder whose plan is taken without --plan")
	formFlag(c.Flags(), &f.form, "form of the answer: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) explain(f explainFlags, name string) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	path, err := f.path()
	if err != nil {
		return err
	}
	p, err := readPlan(path)
	if err != nil {
		return err
	}
	e := p.Explain(strings.TrimPrefix(name, dockerScheme))
	if len(e.Images)+len(e.Bundles)+len(e.Releases) == 0 {
		return unexplained(p, path, name)
	}
	if f.form != outputText {
		return a.print(f.form, struct {
			Version int `json:"version"`
			plan.Explanation
		}{1, e})
	}
	return a.text(explanation(e))
}

// path is the plan that is looked into.
func (f explainFlags) path() (string, error) {
	if f.plan != "" {
		return f.plan, nil
	}
	dir := filepath.Join(strings.TrimPrefix(f.workspace, fileScheme), "plans")
	plans, err := filepath.Glob(filepath.Join(dir, "*.json"))
	switch {
	case err != nil:
		return "", usagef("--workspace: %w", err)
	case len(plans) == 0:
		return "", usageHint("make one with gantry plan -c imageset.yaml, or give one with --plan", "there is no plan in %s", dir)
	case len(plans) > 1:
		return "", usageHint("give one of them with --plan: "+strings.Join(plans, ", "), "there are %d plans in %s", len(plans), dir)
	}
	return plans[0], nil
}

// unexplained says that a plan has nothing of a name, and what comes near.
func unexplained(p *plan.Plan, path, name string) error {
	var known []string
	for _, c := range p.Catalogs {
		for _, pkg := range c.Packages {
			known = append(known, pkg.Name)
			for _, ch := range pkg.Channels {
				for _, b := range ch.Bundles {
					known = append(known, b.Name)
				}
			}
		}
	}
	for _, r := range p.Releases {
		known = append(known, r.Version, r.Name())
	}
	for _, img := range p.Images {
		known = append(known, img.Source)
		for _, b := range img.Because {
			if b.Release != "" && b.Name != "" {
				known = append(known, b.Name)
			}
		}
	}
	slices.Sort(known)
	hint := suggest.Phrase(name, slices.Compact(known))
	if hint == "" {
		hint = "gantry plan lists its packages, and with --output json its images"
	}
	return usageHint(hint, "%s has no image, bundle, package or release %q", path, name)
}

// explanation is an Explanation for people.
func explanation(e plan.Explanation) string {
	var b strings.Builder
	for _, x := range e.Bundles {
		fmt.Fprintf(&b, "%s of package %s, catalog %s\n", x.Name, x.Package, x.Catalog)
		writeKeptFor(&b, "  ", x)
	}
	for _, x := range e.Releases {
		fmt.Fprintf(&b, "release %s\n", x.Name)
		writeTakenFor(&b, "  ", x)
	}
	for _, x := range e.Images {
		fmt.Fprintf(&b, "%s\n", x.Source)
		switch {
		case x.Missing != "":
			fmt.Fprintf(&b, "  missing at the source: %s\n", x.Missing)
		case x.Blocked != "":
			fmt.Fprintf(&b, "  blocked by %q\n", x.Blocked)
		default:
			fmt.Fprintf(&b, "  becomes %s:%s, %s\n", x.Repository, strings.Join(x.Tags, ", "), progress.Bytes(x.Size))
		}
		for _, l := range x.Lists {
			fmt.Fprintf(&b, "  in the configuration's %s\n", l)
		}
		for _, bundle := range x.Bundles {
			as := ""
			if len(bundle.As) > 0 {
				as = " as " + strings.Join(bundle.As, ", ")
			}
			fmt.Fprintf(&b, "  named by %s%s (package %s, catalog %s)\n", bundle.Name, as, bundle.Package, bundle.Catalog)
			writeKeptFor(&b, "    ", bundle)
		}
		for _, r := range x.Releases {
			as := ""
			if len(r.As) > 0 {
				as = " as " + strings.Join(r.As, ", ")
			}
			fmt.Fprintf(&b, "  named by release %s%s\n", r.Name, as)
			writeTakenFor(&b, "    ", r)
		}
	}
	return b.String()
}

func writeKeptFor(b *strings.Builder, indent string, x plan.ExplainedBundle) {
	for _, kept := range x.Channels {
		why := kept.Reason
		if kept.For != "" && kept.For != x.Name {
			why += ", for " + kept.For
		}
		fmt.Fprintf(b, "%schannel %s: %s\n", indent, kept.Channel, why)
	}
}

// writeTakenFor says what a release was taken for.
func writeTakenFor(b *strings.Builder, indent string, x plan.ExplainedRelease) {
	for _, why := range x.Reasons {
		if why.Channel == "" {
			fmt.Fprintf(b, "%snamed by the configuration\n", indent)
			continue
		}
		fmt.Fprintf(b, "%schannel %s: %s\n", indent, why.Channel, why.Reason)
	}
	for _, u := range x.Updates {
		fmt.Fprintf(b, "%son the way from %s to %s in channel %s\n", indent, u.From, u.To, u.Channel)
	}
}
