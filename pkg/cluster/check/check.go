package check

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/cluster/operator"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/proof"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Options says what Check checks: the operators of clusters, or, with Mirror, updates of the
// platform.
type Options struct {
	Env *env.Env
	// Selection is what clusters run, and the configuration whose catalogs are checked.
	selection.Selection
	// Plan is the file of a plan, in place of a configuration.
	Plan string
	// Catalogs are catalogs, in place of a configuration. They are checked as they are. They may also be the
	// folders of an archive and of those that it builds on, each as file://DIR, or one mirror: docker://HOST[:PORT][/PREFIX],
	// also beside a configuration. With a configuration alone, the mirrors that the workspace copied it to are checked, too.
	Catalogs []string
	// Read has the signing policy and the identities that an archive is read with.
	Read archive.OpenOptions
	// Workspace is the folder whose cache is used, if it exists. To check updates of the platform, it
	// is the workspace that the mirror was filled from. The default is env.DefaultWorkspace.
	Workspace string
	// ClusterVersion is the version of OpenShift that clusters run or will be updated to. The default
	// is the one of Selection.Installed. If it is set, the heads of all other packages are checked, too,
	// and a block of the update from an earlier minor version in Selection.Installed is an error.
	ClusterVersion string
	// ClusterExtension are files with the ClusterExtensions to resolve.
	ClusterExtension []string
	// ClusterCatalog are files with the ClusterCatalogs of the cluster. The default are those that
	// Gantry writes for the mirror.
	ClusterCatalog []string
	// CRDSafety also compares the CustomResourceDefinitions of neighboring bundles of all packages by
	// the rules of OLM v1.
	CRDSafety bool

	// Mirror, if not empty, is the mirror whose platform updates are checked:
	// "docker://HOST[:PORT][/PREFIX]". The plans are those that Workspace copied there, or the one of
	// Config or Plan. Operators are not checked.
	Mirror string
	// updates.ReleaseTrust must be the one that releases were mirrored with.
	updates.ReleaseTrust
	// From and To are versions of the platform, to check updates without a plan.
	From []string
	To   string
	// Channel is the channel that clusters follow. The default is one that has To, preferably a
	// stable one.
	Channel string
	// Arch is the architecture of the clusters. The default is all for which the mirror has the versions.
	Arch string
	// MaxNestedPaths is the one that the mirror was filled with.
	MaxNestedPaths int
	// Blobs also asks the mirror for every blob of the releases. ReadBlobs reads every manifest and
	// blob, and compares it with its digest.
	Blobs, ReadBlobs bool
}

// A Result is the result of a check of operators, or of the platform.
type Result struct {
	// Upgrades are the operators that clusters run, and how they are updated.
	Upgrades upgrade.Report
	// Extensions are the ClusterExtensions.
	Extensions []ResolvedExtension
	// CRDSafety is the result of Options.CRDSafety, or nil.
	CRDSafety *CRDSafety
	// Mirrored are checks of what the mirrors of a configuration have now. The rest of the result is about what a run of the
	// configuration would publish.
	Mirrored []MirroredCheck
	// Platform is the result for updates of the platform. It is nil for operators.
	Platform *proof.Report
}

// A ResolvedExtension is a ClusterExtension and the bundle that OLM v1 would install for it.
type ResolvedExtension struct {
	Name       string                `json:"name"`
	File       string                `json:"file"`
	Line       int                   `json:"line"`
	Resolution *extension.Resolution `json:"resolution,omitempty"` // nil if it does not resolve
	Error      string                `json:"error,omitempty"`
}

// Run reports how operators that clusters run would be updated with the catalogs of a mirror, or
// whether updates of the platform are possible with the content of a mirror. If an upgrade path or
// content is missing, it returns the result and an error of kind Mismatch.
func Run(ctx context.Context, o Options) (*Result, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.Mirror != "" {
		return checkPlatform(ctx, e, &o)
	}
	return checkOperators(ctx, e, &o)
}

// checkOperators checks the operators of clusters.
func checkOperators(ctx context.Context, e *env.Env, o *Options) (*Result, error) {
	c, err := newOperatorCheck(e, o)
	if err != nil {
		return nil, err
	}
	if c.sources, err = workspace.OpenSources(e, env.WorkspaceDir(o.Workspace)); err != nil {
		return nil, err
	}
	defer func() {
		if err := c.sources.Close(); err != nil {
			e.Logger().Warn("removing what was read", "error", err)
		}
	}()
	if o.archived() {
		if err := c.openArchive(ctx); err != nil {
			return nil, err
		}
		defer c.archive.Close()
	}
	if err := c.recall(ctx); err != nil {
		return nil, err
	}
	o = c.options
	configured := listing.ConfiguredOperators(c.selected.Config)
	operators, err := c.operators(ctx)
	if err != nil {
		return nil, err
	}
	if len(operators)+len(configured)+len(c.extensions) == 0 && !o.CRDSafety && o.ClusterVersion == "" {
		return nil, env.InputHint("set Options.Installed to a file with the output of oc get csv -A -o json, Options.ClusterVersion or Options.ClusterExtension", "nothing to check: it is unknown what clusters run")
	}
	s, catalogs, err := c.read(ctx, slices.Concat(operators, configured))
	if err != nil {
		return nil, err
	}
	if known := installed.Identify(operators, contents(catalogs)...); !samePackages(operators, known) {
		// Read packages completely if only their outlines were read.
		operators = known
		if s, catalogs, err = c.read(ctx, slices.Concat(operators, configured)); err != nil {
			return nil, err
		}
	}
	result := &Result{}
	result.Upgrades, err = upgrade.Check(operators, catalogs, upgrade.Options{
		ClusterVersion: c.clusterVersion(), Configured: configured,
		Conditions: c.selected.Conditions,
	})
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	if o.ClusterVersion != "" {
		if result.Upgrades.Offered, err = upgrade.Offers(catalogs, result.Upgrades.Operators, o.ClusterVersion); err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
	}
	if result.Extensions, err = c.resolve(s); err != nil {
		return nil, err
	}
	if o.CRDSafety {
		if result.CRDSafety, err = c.checkDefinitions(ctx, s, result.Upgrades); err != nil {
			return nil, err
		}
	}
	if o.Config != "" {
		if result.Mirrored, err = c.checkMirrors(ctx, slices.Concat(operators, unreported(configured, operators))); err != nil {
			return nil, err
		}
	}
	if err := result.operatorsError(c.selected.BlockedVersion(result.Upgrades, o.ClusterVersion)); err != nil {
		return result, err
	}
	return result, mirroredNowError(result.Mirrored)
}

// clusterVersion returns the version of OpenShift that clusters run or will be updated to, "" if it is unknown.
func (c *operatorCheck) clusterVersion() string {
	return cmp.Or(c.options.ClusterVersion, listing.PlatformVersion(c.selected))
}

// recall completes what clusters run by what earlier runs recorded of it, and finds the catalogs of a mirror.
func (c *operatorCheck) recall(ctx context.Context) error {
	o := c.options
	switch {
	case o.Config != "":
		known, err := state.ReadClusters(env.WorkspaceDir(o.Workspace), selection.PlanName("", o.Config))
		if err != nil || known == nil {
			return err
		}
		c.kept = planning.RecordedOperators(known.Operators)
		c.know(known.Operators)
	case len(o.Catalogs) == 1 && isMirror(o.Catalogs[0]):
		return c.useMirror(ctx, o.Catalogs[0])
	}
	return nil
}

// An operatorCheck is a check of operators.
type operatorCheck struct {
	env        *env.Env
	options    *Options
	selected   *selection.Selected
	extensions []extension.Extension
	catalogs   []extension.Catalog
	sources    *workspace.Sources
	// archive has the catalogs to check; nil if they are not in an archive.
	archive *operator.Operators
	// kept are the recorded operators whose upgrade paths a run of the configuration keeps.
	kept []installed.Operator
}

// newOperatorCheck checks the options and reads their files.
func newOperatorCheck(e *env.Env, o *Options) (*operatorCheck, error) {
	given := 0
	ofConfig := o.Config != "" && len(o.Catalogs) == 1 && isMirror(o.Catalogs[0]) // the mirror of a configuration
	for _, is := range []bool{o.Config != "", o.Plan != "", len(o.Catalogs) > 0 && !ofConfig} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, env.InputHint("set Options.Config, Options.Plan or a catalog", "one thing must be checked: a configuration, a plan or catalogs")
	case len(o.Catalogs) > 1 && slices.ContainsFunc(o.Catalogs, isMirror):
		return nil, env.InputHint("check them one after the other", "a mirror cannot be checked together with other catalogs")
	case o.Dependencies && o.Config == "":
		return nil, env.Inputf("Options.Dependencies is for a configuration (Options.Config)")
	case len(o.ClusterCatalog) > 0 && len(o.ClusterExtension) == 0:
		return nil, env.Inputf("Options.ClusterCatalog requires Options.ClusterExtension")
	}
	c := &operatorCheck{env: e, options: o}
	var err error
	if c.selected, err = o.Selection.Load(); err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(o.ClusterExtension, o.ClusterCatalog) {
		extensions, catalogs, err := readExtensions(name)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		c.extensions = append(c.extensions, extensions...)
		c.catalogs = append(c.catalogs, catalogs...)
	}
	if len(o.ClusterExtension) > 0 && len(c.extensions) == 0 {
		return nil, env.Inputf("Options.ClusterExtension: %s: the file has no ClusterExtension", strings.Join(o.ClusterExtension, ", "))
	}
	return c, nil
}

// read reads the catalogs that the mirror has, or will have: the packages of the operators and
// extensions, and the outlines of others, which they may require.
func (c *operatorCheck) read(ctx context.Context, operators []installed.Operator) (*build.Selection, []upgrade.Catalog, error) {
	names := map[string]bool{}
	for _, o := range operators {
		names[o.Package] = true
	}
	for _, e := range c.extensions {
		names[e.Package] = true
	}
	s, err := c.selectPackages(ctx, func(pkg string) bool { return names[pkg] || c.options.CRDSafety || c.options.ClusterVersion != "" })
	if err != nil {
		return nil, nil, err
	}
	named, err := namedCatalogs(env.WorkspaceDir(c.options.Workspace), s)
	if err != nil {
		return nil, nil, err
	}
	catalogs, err := upgradeCatalogs(s, named)
	return s, catalogs, err
}

// upgradeCatalogs returns catalogs in the form in which operators are followed in them. named are the
// same catalogs with their names in clusters.
func upgradeCatalogs(s *build.Selection, named []resources.Catalog) ([]upgrade.Catalog, error) {
	var catalogs []upgrade.Catalog
	for i, c := range s.Catalogs {
		k := upgrade.Catalog{Name: c.Catalog.Name(), Kept: c.Result.Catalog, Source: c.Original}
		if c.Original != nil { // the source of a catalog of the mirror is unknown
			var err error
			if k.CatalogSource, err = named[i].CatalogSourceName(); err != nil {
				return nil, advice.Wrap(advice.Input, err, "")
			}
		}
		catalogs = append(catalogs, k)
	}
	return catalogs, nil
}

func readExtensions(name string) (extensions []extension.Extension, catalogs []extension.Catalog, err error) {
	in, err := regular.OpenInput(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return extension.Read(name, in)
}

// resolve resolves the ClusterExtensions with the catalogs of the mirror.
func (c *operatorCheck) resolve(s *build.Selection) ([]ResolvedExtension, error) {
	if len(c.extensions) == 0 {
		return nil, nil
	}
	catalogs, err := clusterCatalogs(c.env, c.catalogs, env.WorkspaceDir(c.options.Workspace), s)
	if err != nil {
		return nil, err
	}
	var all []ResolvedExtension
	for _, e := range c.extensions {
		r := ResolvedExtension{Name: e.Name, File: e.File, Line: e.Line}
		resolution, err := extension.Resolve(e, catalogs)
		if err != nil {
			r.Error = env.ErrorText(err)
		} else {
			r.Resolution = &resolution
		}
		all = append(all, r)
	}
	return all, nil
}

// operatorsError returns an error of kind Mismatch if an operator or extension has a problem, or if blocked is a
// minor version of OpenShift to which clusters cannot be updated; it may be "".
func (r *Result) operatorsError(blocked string) error {
	var texts []string
	if n := len(r.Upgrades.WithOutcome(upgrade.Stranded, upgrade.NotMirrored)); n > 0 {
		texts = append(texts, env.Number(n, "installed operator has", "installed operators have")+" no upgrade path")
	}
	if n := len(r.Upgrades.WithOutcome(upgrade.MissingDependency)); n > 0 {
		texts = append(texts, "requirements of "+env.Number(n, "installed operator", "installed operators")+" are missing")
	}
	if n := len(r.Upgrades.WithOutcome(upgrade.Downgraded)); n > 0 {
		texts = append(texts, env.Number(n, "installed operator is", "installed operators are")+" downgraded")
	}
	if blocked != "" {
		texts = append(texts, "the update of clusters to OpenShift "+blocked+" is blocked")
	}
	failed, refused := 0, 0
	for _, x := range r.Extensions {
		switch {
		case x.Error != "":
			failed++
		case slices.ContainsFunc(x.Resolution.Refusals, func(r extension.Refusal) bool { return r.Reason != extension.NoExcerpt }):
			refused++
		}
	}
	if failed > 0 {
		texts = append(texts, env.Number(failed, "ClusterExtension does", "ClusterExtensions do")+" not resolve")
	}
	if refused > 0 {
		texts = append(texts, env.Number(refused, "ClusterExtension gets", "ClusterExtensions get")+" a bundle that OLM v1 refuses")
	}
	if s := r.CRDSafety; s != nil {
		if n := len(s.Refused); n > 0 {
			texts = append(texts, "OLM v1 refuses "+env.Number(n, "update", "updates")+" because of CustomResourceDefinitions")
		}
		if n := len(s.Unread); n > 0 {
			texts = append(texts, "the CustomResourceDefinitions of "+env.Number(n, "bundle", "bundles")+" cannot be read")
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return advice.New(advice.Mismatch, "", "with this mirror %s", strings.Join(texts, ", "))
}
