package main

import (
	"context"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// planFlags are the flags of gantry plan.
type planFlags struct {
	registryFlags
	options    planning.Options
	sign       signFlags
	kubernetes kubernetesFlags
	compact    compactFlags
	lock       string
	report     reportFlag
	exitCode   bool
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use: "plan -c FILE [DESTINATION]",
		Long: `Resolve everything that a configuration asks for: tags to digests, packages to
bundles to images, images to manifests and blobs with their sizes. Nothing is copied.
With a destination, also show what is already present there.

--lock writes the plan as JSON: sorted, without timestamps, identical for the same
input. gantry mirror --plan copies exactly this plan. With --sign-key, it accepts the
plan also where only signed plans are accepted.

--kubernetes-job prints the Jobs that copy the plan with several pods, as YAML.

` + exitCodes(map[int]string{
			exitPartial:   "images are missing at their sources; the plan lists them",
			exitMismatch:  "with --on-strand=refuse: a catalog strands installed operators, or is older than the published one",
			exitSomething: "with --exit-code: content has to be copied to the destination",
			exitLocked:    helpLocked, exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace,
		}),
		Example: `  gantry plan -c imageset.yaml
  gantry plan -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry plan -c imageset.yaml --lock plan.json --sign-key ~/.ssh/id_ed25519
  gantry plan -c imageset.yaml --report plan.html
  gantry plan -c imageset.yaml --exit-code docker://mirror.example.com:5000
  gantry plan -c imageset.yaml --kubernetes-job 4 --kubernetes-image registry.example.com/tools/gantry:v1 docker://mirror.example.com:5000 > jobs.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sign.stdin, f.sign.what = cmd.InOrStdin(), "the plan"
			return a.plan(cmd.Context(), &f, strings.Join(args, ""))
		},
	}
	o := &f.options
	f.compact.addFlags(c.Flags())
	inputs{&o.Selection, &o.ReleaseTrust, &o.Name, &o.Workspace, &o.RemoveSignatures}.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	addImageTrust(c.Flags(), &o.ImageTrust)
	addGates(c.Flags(), &o.Gates)
	f.sign.addFlags(c.Flags(), "sign the plan that --lock writes; the signature is FILE.sig,")
	f.kubernetes.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	a.addFile(c.Flags(), &f.lock, "lock", "write the plan as JSON to this file")
	c.Flags().StringVar(&f.lock, "out", "", "write the plan as JSON to this file")
	c.Flags().Lookup("out").Hidden = true // its name before --lock
	f.report.addFlag(c.Flags(), "the plan")
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 5 if content has to be copied to the destination")
	c.Flags().BoolVar(&o.Errata, "errata", false, "list the errata of releases, and the builds and errata that the labels of images name")
	c.Flags().IntVar(&o.MaxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the destination; 0 is no limit")
	c.Flags().StringVar(&o.OnStrand, "on-strand", admission.OnStrandKnown, onStrandUsage)
	addForget(c.Flags(), &o.Selection)
	c.Flags().BoolVar(&o.AllowOlder, "allow-older", false, "with --on-strand=refuse: do not end with 4 because a catalog is older than the one that it replaces")
	c.AddCommand(a.planSBOMCommand(), a.explainCommand())
	return c
}

func (a *app) plan(ctx context.Context, f *planFlags, destination string) error {
	if err := f.compact.check(destination); err != nil {
		return err
	}
	if f.exitCode && destination == "" {
		return usageHint("name a destination", "--exit-code compares the plan with a destination")
	}
	o := f.options
	o.Deltas = f.compact.options.Planned()
	if o.OnStrand == "" {
		return usageHint("use "+strings.Join(admission.OnStrands(), ", "), "--on-strand %q", o.OnStrand)
	}
	if err := checkWorkspace(o.Workspace); err != nil {
		return err
	}
	if err := checkOutputFile("lock", f.lock); err != nil {
		return err
	}
	switch {
	case f.sign.key != "" && f.lock == "":
		return usageHint("name a file with --lock", "--sign-key signs the plan that --lock writes")
	case f.sign.key != "" && !env.IsFile(f.lock):
		return usageHint("name a file", "the signature of the plan is written beside it, and --lock %s is not a regular file", f.lock)
	}
	if err := f.sign.check(f.lock != "", "--lock"); err != nil {
		return err
	}
	if err := f.report.check(f.lock); err != nil {
		return err
	}
	jobs, err := f.kubernetes.options(f, a.output, destination)
	if err != nil {
		return err
	}
	key, err := a.signKey(ctx, f.sign)
	if err != nil {
		return err
	}
	o.Env, o.Destination = a.environment(&f.registryFlags), f.compared(destination)
	o.Page, o.Lock = f.report != "", f.lock
	result, err := planning.Make(ctx, o)
	if result == nil {
		return err
	}
	nameFlagsIn(result.Resources)
	if f.lock != "" {
		if _, err := signing.WritePlan(ctx, result.Plan, signing.PlanFile{Path: f.lock, SigningKey: key}); err != nil {
			return err
		}
	}
	if err := f.report.write(a, result.Page); err != nil {
		return err
	}
	unsigned, _ := result.Plan.Unsigned()
	if f.kubernetes.used() {
		if err := a.showJobs(result, jobs); err != nil {
			return err
		}
	} else if err := a.showPlan(&shownPlan{1, result.Plan, result.Digest, destination, result.ToCopy, result.Deltas, result.Resources, result.Replaced, result.Warnings, result.Verified, unsigned, result.Gate, result.Errata, result.NewNotes}); err != nil {
		return err
	}
	switch {
	case f.lock != "":
		a.say("plan written to %s, %s", f.lock, result.Digest)
	case result.Trial:
		a.say("plan not saved in the workspace, because --installed, --dependencies, --complete-related-images, --platforms-mode, --dest-format or --min-age change it; --lock FILE writes it to a file")
	}
	if err == nil && f.exitCode && result.ToCopy.Images > 0 {
		return errSomething
	}
	return err
}

// nameFlagsIn writes the names of flags into notes and reasons, in place of options. files may be nil.
func nameFlagsIn(files *cluster.ResourceFiles) {
	if files == nil {
		return
	}
	for i, note := range files.Notes {
		files.Notes[i] = flagNames(note)
	}
	if files.Applied == nil {
		return
	}
	for i, l := range files.Applied.LeftOut {
		files.Applied.LeftOut[i].Reason = flagNames(l.Reason)
	}
}

// A shownPlan is a plan, and what would change at a destination. Its JSON is what gantry plan -o json prints.
type shownPlan struct {
	Version int        `json:"version"`
	Plan    *plan.Plan `json:"plan"`
	// Digest is the SHA-256 of the file of the plan.
	Digest      digest.Digest `json:"digest"`
	Destination string        `json:"destination,omitempty"`
	// Missing is what the destination does not have.
	Missing *mirror.ToCopy `json:"missing,omitempty"`
	// Deltas is what an archive would compare with what the site has.
	Deltas    *site.PlannedDeltas         `json:"deltas,omitempty"`
	Resources *cluster.ResourceFiles      `json:"resources,omitempty"`
	Replaced  []admission.ReplacedCatalog `json:"replaced,omitempty"`
	Warnings  []selection.ConfigProblem   `json:"warnings,omitempty"`
	Verified  *trust.VerifiedSignatures   `json:"verifiedSignatures,omitempty"`
	// UnsignedImages is how many images have no signature, whatever a policy requires.
	UnsignedImages int               `json:"unsignedImages"`
	Gate           *gates.GateResult `json:"gate,omitempty"`
	// Errata are printed with --errata.
	Errata *planning.Errata `json:"errata,omitempty"`
	// notes are those of the plan that are new. With -v, all are printed.
	notes []string
}

// showPlan prints a plan, and what would change in the cluster resources, as text or JSON.
func (a *app) showPlan(p *shownPlan) error {
	nameFlagsInReplaced(p.Replaced)
	return a.result(p, func() string {
		notes := p.notes
		if a.verbose {
			notes = p.Plan.Notes
		}
		return flagNames(view.Plan(p.Plan, notes, p.Destination, p.Missing, p.Deltas, a.columns()) + view.Replaced(p.Replaced) + view.VerifiedSignatures(p.Verified) + view.Gate(p.Gate) + view.Errata(p.Errata) + view.PlannedResources(p.Resources))
	})
}

// nameFlagsInReplaced writes the names of flags into problems, in place of options.
func nameFlagsInReplaced(all []admission.ReplacedCatalog) {
	for i := range all {
		all[i].Problem = flagNames(all[i].Problem)
	}
}
