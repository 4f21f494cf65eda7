package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// checkFlags are those of gantry check.
type checkFlags struct {
	readFlags
	selectFlags
	platformFlags
	plan           string
	clusterVersion string
	extensionFiles []string
	catalogFiles   []string
	form           string

	extensions []extension.Extension // what loadExtensions read
	catalogs   []extension.Catalog
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check {-c FILE | --plan FILE | CATALOG...} | check --platform docker://HOST[:PORT][/PREFIX]",
		Short: "Ask what a mirror will do to clusters: to their operators, or to updates of the platform",
		Long: `Check follows the update graph from each installed operator as OLM classic or OLM v1
does: does it reach the head, by which hops, what may block a hop on the given
version of OpenShift, and where it does not arrive, what would mend that. Operators
are those of --installed and of the configuration's own installed lists; only the
latter change what is kept, as gantry mirror --installed would.

With --cluster-extension, it resolves ClusterExtensions as OLM v1 would. Their
selectors see the ClusterCatalogs that Gantry emits, or those of --cluster-catalog.

It ends with 4 where somebody is stranded (no way to the head, or one that OLM v1
refuses; a package that the mirror leaves out), lacks what an update needs, or is
downgraded; where an extension does not resolve, or gets a bundle that OLM v1 refuses.
Operators of other catalogs than the mirror's are named, and no reason for that.

With --platform, it proves that updates of the platform are possible with what a
mirror has, and with nothing else: it makes the update graph of the release images and
the graph data there, as an update service at the site would, and looks for every
planned hop, for all images of the releases on it and for the ConfigMaps of their
signatures in the workspace, which the keys of the release that a hop leaves have to
accept, as clusters do. Plans are those that the workspace mirrored there, or
that of -c or --plan; --from and --to ask the same about any update without one. It
ends with 4 where a hop is not possible, and names the missing piece.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry check -c imageset.yaml --installed csv.json --cluster-version 4.20.3
  gantry check --plan plan.json --installed csv.json --installed subscription.json
  gantry check mirror.example.com:5000/org/catalog:v4.20 --installed csv.json -o json
  gantry check -c imageset.yaml --cluster-extension extension.yaml
  gantry check --platform docker://mirror.example.com:5000/ocp
  gantry check --platform --from 4.18.20 --to 4.20.5 docker://mirror.example.com:5000/ocp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), f, args)
		},
	}
	f.readFlags.addFlags(c.Flags())
	f.selectFlags.addFlags(c.Flags(), "whether it gets on is said")
	f.platformFlags.addFlags(c.Flags(), &f.sides)
	c.Flags().StringVar(&f.plan, "plan", "", "check this plan, as gantry plan -o wrote it")
	c.Flags().StringVar(&f.clusterVersion, "cluster-version", "", "version of OpenShift that clusters run or will be updated to, such as 4.20.3 (default: what a ClusterVersion of --installed says)")
	c.Flags().StringArrayVar(&f.extensionFiles, "cluster-extension", nil, "file with ClusterExtensions to resolve (may be repeated)")
	c.Flags().StringArrayVar(&f.catalogFiles, "cluster-catalog", nil, "file with the ClusterCatalogs of the cluster (may be repeated)")
	formFlag(c.Flags(), &f.form, "form of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) check(ctx context.Context, f checkFlags, args []string) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	if f.platform {
		return a.checkPlatform(ctx, f, args)
	}
	if err := f.stray(); err != nil {
		return err
	}
	given := 0
	for _, is := range []bool{f.config != "", f.plan != "", len(args) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return usagef("what is to be checked? give one of -c imageset.yaml, --plan plan.json and a catalog")
	}
	if f.dependencies && f.config == "" {
		return errNoDependencies
	}
	if err := f.loadGiven(); err != nil {
		return err
	}
	if err := f.loadExtensions(); err != nil {
		return err
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	defer a.done(r)
	operators := slices.Concat(f.clusters, unsaid(configured(f.loaded), f.clusters))
	if len(operators)+len(f.extensions) == 0 {
		return usagef("what do clusters run? give --installed with what oc get csv -A -o json prints, or --cluster-extension")
	}
	s, err := a.checked(ctx, &f, r, args, operators)
	if err != nil {
		return err
	}
	catalogs, err := upgradeCatalogs(s)
	if err != nil {
		return err
	}
	if known := upgrade.Identify(operators, catalogs); !samePackages(operators, known) {
		// What was only outlined for others is asked about now.
		operators = known
		if s, err = a.checked(ctx, &f, r, args, operators); err != nil {
			return err
		}
		if catalogs, err = upgradeCatalogs(s); err != nil {
			return err
		}
	}
	report, err := upgrade.Check(operators, catalogs, upgrade.Options{ClusterVersion: cmp.Or(f.clusterVersion, f.release())})
	if err != nil {
		return &usageError{err}
	}
	resolved, err := a.resolve(f, s)
	if err != nil {
		return err
	}
	if err := a.showCheck(f.form, report, resolved); err != nil {
		return err
	}
	return verdict(report, resolved)
}

// samePackages reports whether operators are of the packages that they were of.
func samePackages(a, b []installed.Operator) bool {
	return slices.EqualFunc(a, b, func(a, b installed.Operator) bool { return a.Package == b.Package })
}

// upgradeCatalogs are catalogs as operators are followed in them.
func upgradeCatalogs(s *plan.Selection) ([]upgrade.Catalog, error) {
	var catalogs []upgrade.Catalog
	for _, c := range s.Catalogs {
		k := upgrade.Catalog{Name: c.Catalog.Name(), Kept: c.Result.Catalog, Source: c.Source}
		if c.Source != nil { // of the mirror's own catalog it is not known what it was made of
			named := resources.Catalog{Source: c.Catalog.Source, Target: c.Catalog.Target, TemplateName: c.Catalog.TemplateName}
			if c.Catalog.Template != "" {
				named.Template = []byte(c.Catalog.Template)
			}
			var err error
			if k.CatalogSource, err = named.CatalogSourceName(); err != nil {
				return nil, &usageError{err}
			}
		}
		catalogs = append(catalogs, k)
	}
	return catalogs, nil
}

// checked is what the mirror has, or will have, of its catalogs: the packages that
// are asked about, and the outlines of others, which those may need.
func (a *app) checked(ctx context.Context, f *checkFlags, r *reading, args []string, operators []installed.Operator) (*plan.Selection, error) {
	asked := map[string]bool{}
	for _, o := range operators {
		asked[o.Package] = true
	}
	for _, e := range f.extensions {
		asked[e.Package] = true
	}
	only := func(pkg string) bool { return asked[pkg] }
	switch {
	case f.config != "":
		return plan.Select(ctx, f.loaded, r.from(), plan.Options{Log: a.log, Only: only})
	case f.plan != "":
		p, err := readPlan(f.plan)
		if err != nil {
			return nil, err
		}
		return plan.SelectAgain(ctx, p, r.from(), plan.Options{Log: a.log, Only: only})
	}
	s := &plan.Selection{}
	for _, arg := range args {
		src, err := r.open(ctx, arg)
		if err != nil {
			return nil, err
		}
		c, err := src.Read(ctx, catalog.Options{Keep: only, Outline: true})
		if err != nil {
			return nil, err
		}
		s.Catalogs = append(s.Catalogs, plan.AsItIs(src.Name, c))
	}
	return s, nil
}

// unsaid are those of the operators of a configuration that no cluster's own list
// has, which says more of them.
func unsaid(configured, clusters []installed.Operator) []installed.Operator {
	return slices.DeleteFunc(configured, func(o installed.Operator) bool {
		return slices.ContainsFunc(clusters, func(c installed.Operator) bool {
			return c.Generation == o.Generation && c.Package == o.Package &&
				(o.Bundle == "" && c.Version == o.Version || o.Bundle != "" && c.Bundle == o.Bundle)
		})
	})
}

// configured are the operators of the configuration's installed lists. It does
// not tell the generation of OLM, so each is asked about for both.
func configured(cfg *imageset.Config) []installed.Operator {
	var operators []installed.Operator
	if cfg == nil {
		return nil
	}
	for _, op := range cfg.Mirror.Operators {
		for _, in := range op.Installed {
			o := installed.Operator{Package: in.Package, Bundle: in.Bundle, Version: in.Version, Origin: in.Pos.String()}
			if in.Channel != "" {
				o.Channels = []string{in.Channel}
			}
			for _, generation := range []graph.Generation{graph.Classic, graph.V1} {
				o.Generation = generation
				operators = append(operators, o)
			}
		}
	}
	return operators
}

// loadExtensions reads the files of --cluster-extension and --cluster-catalog.
func (f *checkFlags) loadExtensions() error {
	if len(f.catalogFiles) > 0 && len(f.extensionFiles) == 0 {
		return usagef("--cluster-catalog is for --cluster-extension: give one")
	}
	for _, name := range slices.Concat(f.extensionFiles, f.catalogFiles) {
		extensions, catalogs, err := readExtensions(name)
		if err != nil {
			return &usageError{err}
		}
		f.extensions = append(f.extensions, extensions...)
		f.catalogs = append(f.catalogs, catalogs...)
	}
	if len(f.extensionFiles) > 0 && len(f.extensions) == 0 {
		return usagef("--cluster-extension: %s: no ClusterExtension in it", strings.Join(f.extensionFiles, ", "))
	}
	return nil
}

func readExtensions(name string) (extensions []extension.Extension, catalogs []extension.Catalog, err error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return extension.Read(name, in)
}

// A resolvedExtension is what became of a ClusterExtension, as the report has it.
type resolvedExtension struct {
	Name       string                `json:"name"`
	File       string                `json:"file"`
	Line       int                   `json:"line"`
	Resolution *extension.Resolution `json:"resolution,omitempty"`
	Error      string                `json:"error,omitempty"`
}

// resolve resolves the ClusterExtensions against the catalogs of the mirror.
func (a *app) resolve(f checkFlags, s *plan.Selection) ([]resolvedExtension, error) {
	if len(f.extensions) == 0 {
		return nil, nil
	}
	catalogs, err := a.clusterCatalogs(f.catalogs, s)
	if err != nil {
		return nil, err
	}
	var all []resolvedExtension
	for _, e := range f.extensions {
		r := resolvedExtension{Name: e.Name, File: e.File, Line: e.Line}
		resolution, err := extension.Resolve(e, catalogs)
		if err != nil {
			r.Error = err.Error()
		} else {
			r.Resolution = &resolution
		}
		all = append(all, r)
	}
	return all, nil
}

// verdict is an error where anybody does not get on.
func verdict(report upgrade.Report, resolved []resolvedExtension) error {
	var texts []string
	if n := len(report.Having(upgrade.Stranded, upgrade.NotMirrored)); n > 0 {
		texts = append(texts, number(n, "installed operator does", "installed operators do")+" not get on")
	}
	if n := len(report.Having(upgrade.Lacking)); n > 0 {
		texts = append(texts, number(n, "installed operator lacks", "installed operators lack")+" what an update needs")
	}
	if n := len(report.Having(upgrade.Downgraded)); n > 0 {
		texts = append(texts, number(n, "installed operator is", "installed operators are")+" downgraded")
	}
	failed, refused := 0, 0
	for _, r := range resolved {
		switch {
		case r.Error != "":
			failed++
		case slices.ContainsFunc(r.Resolution.Refusals, func(x extension.Refusal) bool { return x.Reason != extension.NoExcerpt }):
			refused++
		}
	}
	if failed > 0 {
		texts = append(texts, number(failed, "ClusterExtension does", "ClusterExtensions do")+" not resolve")
	}
	if refused > 0 {
		texts = append(texts, number(refused, "ClusterExtension gets", "ClusterExtensions get")+" a bundle that OLM v1 refuses")
	}
	if len(texts) == 0 {
		return nil
	}
	return &mismatchError{fmt.Sprintf("with this mirror %s", strings.Join(texts, ", "))}
}
