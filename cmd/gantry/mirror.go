package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// signedArchives is what gantry mirror signs.
const signedArchives = "file:// destinations and for --from"

// mirrorFlags are the flags of gantry mirror.
type mirrorFlags struct {
	inputs
	registryFlags
	policyFlags
	gate         gateFlags
	sign         signFlags
	archiveTrust trustFlags
	signedPlan   bool
	shard        string
	finish       int
	encryptFlags
	base           baseFlags
	blobs          blobFlags
	deltas         deltaFlags
	from           archives
	repair         string
	writeReceipt   string
	stdin          io.Reader
	getenv         func(string) string
	dryRun         bool
	resourcesOnly  bool
	maxNestedPaths int
	strictArchive  bool
	volumeSize     string
	redundancy     percentage
	sourcePolicy   string
	imagePolicies  string
	policySpace    string
	target         string
	icsp           bool
	resourceName   string
	layout         string
	ownWorkspace   bool // it is given
	renameCatalogs bool
	withGantry     bool
	onError        string
	onStrand       string
	allowOlder     bool
	failures       string
	metricsFile    string
	summary        string
	window         []string
	prune          bool
	tagUntagged    bool
	createRepos    bool
	api            apiFlags
}

func (a *app) mirrorCommand() *cobra.Command {
	var f mirrorFlags
	c := &cobra.Command{
		Use: "mirror {-c FILE | --plan FILE | --from file://DIR | --repair FILE} DESTINATION",
		Long: `Copy the content that the destination does not have yet. A destination is
  docker://HOST[:PORT][/PREFIX]  a registry; cluster resources are written to the workspace
  file://DIR, oci://DIR          an archive with the content that earlier ones do not have, an OCI image layout

` + exitCodes(map[int]string{
			exitPartial:  "some images are unavailable, the rest is consistent; the list is on stderr",
			exitMismatch: "the archive or plan that is read is damaged or not signed as required, a catalog is refused (--on-strand, --allow-older), or shards are incomplete (--finish)",
			exitLocked:   helpLocked, exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace,
		}),
		Example: `  gantry mirror -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry mirror -c imageset.yaml file:///media/disk
  gantry mirror --from file:///media/disk --verify-key ops.pub docker://mirror.example.com:5000/ocp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageHint("write docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR", "no destination")
			}
			return cobra.ExactArgs(1)(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.sayUnneeded(cmd.Flags())
			f.stdin, f.getenv = cmd.InOrStdin(), a.getenv
			f.sign.stdin = f.stdin
			f.ownWorkspace = cmd.Flags().Changed("workspace")
			return a.mirror(cmd.Context(), f, args[0])
		},
	}
	f.inputs.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	f.policyFlags.addFlags(c.Flags())
	f.gate.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.sign.addFlags(c.Flags(), "sign the archive, or with --from the receipt,")
	f.archiveTrust.addFlags(c.Flags())
	f.encryptFlags.addFlags(c.Flags())
	addUnneeded(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "copy exactly this plan, a file from gantry plan --lock")
	c.Flags().BoolVar(&f.signedPlan, "require-signed-plan", false, "with --plan, refuse a plan that is not signed by a key of --verify-key or --allowed-signers")
	c.Flags().StringVar(&f.shard, "shard", "", "with --plan, copy only this part of it: 2/4 is the second of four, which several hosts copy at the same time; job/4 in a pod of an Indexed Job")
	c.Flags().IntVar(&f.finish, "finish", 0, "with --plan, publish catalogs, releases and cluster resources after this number of shards was copied")
	f.base.addFlags(c.Flags())
	f.blobs.addFlags(c.Flags())
	f.deltas.addFlags(c.Flags())
	c.Flags().Var(&f.from, "from", "read from the archive in this folder, file://DIR, instead of the sources (may be repeated, or with commas)")
	c.Flags().StringVar(&f.repair, "repair", "", "write an archive with the content of this request, a file from gantry archive repair-request")
	c.Flags().StringVar(&f.writeReceipt, "write-receipt", "", "with --from, also write the receipt of what the mirror has to this file")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be copied, and copy nothing")
	c.Flags().BoolVar(&f.resourcesOnly, "resources-only", false, "write the cluster resources for what would be in the registry, and copy nothing")
	c.Flags().BoolVar(&f.prune, "prune", false, "after a complete run to a registry, delete what none of its image sets needs, as gantry prune --yes does")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the destination; 0 is no limit")
	c.Flags().BoolVar(&f.tagUntagged, "tag-untagged", false, "give the images of indexes and referrers tags, so that garbage collection which deletes untagged manifests keeps them")
	c.Flags().BoolVar(&f.createRepos, "create-repositories", false, "create the repositories or projects that the plan needs on Amazon ECR, Harbor or Quay, as gantry registry prepare does")
	f.api.addFlags(c.Flags())
	c.Flags().StringVar(&f.volumeSize, "volume-size", "", "maximum size of an archive's volumes: 4GiB, 4.7GB, cd, fat32, dvd, dvd-dl, bd or bd-dl (default: archiveSize of the configuration)")
	c.Flags().BoolVar(&f.strictArchive, "strict-archive", false, "fail if a blob is larger than a volume, instead of splitting it")
	c.Flags().Var(&f.redundancy, "redundancy", "add parity files for this share of an archive's volumes, such as 10%, from which lost or damaged volumes are rebuilt (gantry archive rebuild)")
	c.Flags().StringVar(&f.onError, "on-error", selection.OnErrorContinue, "if images are unavailable: stop, continue without them, or package: also exclude the packages that name them")
	c.Flags().StringVar(&f.onStrand, "on-strand", admission.OnStrandKnown, onStrandUsage)
	addForget(c.Flags(), &f.inputs)
	c.Flags().BoolVar(&f.allowOlder, "allow-older", false, "replace catalogs at the destination by older ones, or import an archive that is older than the last one")
	c.Flags().BoolVar(&f.withGantry, "with-gantry", false, "also write this program beside the volumes of an archive, with its SHA-256")
	c.Flags().StringVar(&f.failures, "failures", "", "write what is not at the destination to this file, one JSON object per line")
	c.Flags().StringSliceVar(&f.window, "window", nil, "copy only at these times of the day, 22:00-05:00 in the local time zone, and pause in between (may be repeated, or with commas)")
	c.Flags().StringVar(&f.summary, "summary", "", "write a Markdown summary of the run to this file: what is new, what failed, what to do next")
	c.Flags().StringVar(&f.metricsFile, "metrics-file", "", "write metrics of the run for Prometheus to this file (node_exporter's textfile collector)")
	c.Flags().StringVar(&f.layout, "layout", "", "names of files: gantry, or oc-mirror for working-dir/cluster-resources, logs, dry-run and mirror_000001.tar (default: what the workspace uses, or gantry)")
	c.Flags().StringVar(&f.target, "for", "", forUsage)
	c.Flags().BoolVar(&f.icsp, "icsp", false, icspUsage)
	c.Flags().StringVar(&f.resourceName, "resource-name", "", "name in mirror sets and the UpdateService, idms-operator-NAME-0, if a cluster uses several mirrors (default: none for the first mirror of a workspace)")
	c.Flags().BoolVar(&f.renameCatalogs, "rename-catalogs", false, "give CatalogSources and ClusterCatalogs the names that oc mirror gives them, in place of those that were saved")
	c.Flags().StringVar(&f.sourcePolicy, "mirror-source-policy", "", "mirrorSourcePolicy of the mirror sets: NeverContactSource or AllowContactingSource")
	c.Flags().StringVar(&f.imagePolicies, "image-policies", "", "with --policy, version of the ClusterImagePolicies that are written: v1, v1alpha1 (OpenShift 4.16 to 4.19), or none (default: v1)")
	c.Flags().StringVar(&f.policySpace, "image-policy-namespace", "", "write ImagePolicies for this namespace instead of ClusterImagePolicies")
	return c
}

// options returns the options that the flags set, without keys, and checks them.
func (f *mirrorFlags) options(destination string) (mirroring.Options, error) {
	images, err := f.policyFlags.trust()
	if err != nil {
		return mirroring.Options{}, err
	}
	gates, err := f.gate.gates()
	if err := cmp.Or(err, f.base.resolve(f.repair), f.blobs.resolve()); err != nil {
		return mirroring.Options{}, err
	}
	o := mirroring.Options{
		RunReports: mirroring.RunReports{MetricsFile: f.metricsFile, SummaryFile: f.summary, Summarize: summarize},
		Selection:  f.selection(), PlanOptions: mirroring.PlanOptions{Plan: f.plan}, ImportOptions: mirroring.ImportOptions{From: f.from, WriteReceipt: f.writeReceipt}, Repair: f.repair,
		TrustOptions: mirroring.TrustOptions{ReleaseTrust: f.inputs.trust(), ImageTrust: images, Gates: gates, RemoveSignatures: f.removeSignatures},
		Destination:  destination, Name: f.name, Workspace: f.workspace, Layout: f.layout, DryRun: f.dryRun, ResourcesOnly: f.resourcesOnly,
		RegistryOptions: mirroring.RegistryOptions{MaxNestedPaths: f.maxNestedPaths, CreateRepositories: f.createRepos, API: f.api.options(), Prune: f.prune},
		ArchiveOptions: mirroring.ArchiveOptions{
			Volumes: site.Volumes{StrictArchive: f.strictArchive, Redundancy: int(f.redundancy)}, Full: f.base.full, Receipts: f.base.receipts,
		},
		Rules:     copying.Rules{OnError: f.onError, CheckBlobs: f.blobs.check, ReadBlobs: f.blobs.read, RepairMissing: f.blobs.repair, TagUntagged: f.tagUntagged},
		Replacing: admission.Replacing{OnStrand: f.onStrand, AllowOlder: f.allowOlder},
		Format: cluster.Format{
			For: f.target, ICSP: f.icsp, MirrorSourcePolicy: f.sourcePolicy, ImagePolicies: f.imagePolicies, ImagePolicyNamespace: f.policySpace,
			ResourceName: f.resourceName, RenameCatalogs: f.renameCatalogs,
		},
	}
	// For archives, the keys may be those of earlier ones.
	o.RequireSignedPlan = f.signedPlan || f.plan != "" && !strings.HasPrefix(destination, fileScheme) && f.archiveTrust.requires()
	o.Finish = f.finish
	if err := f.parse(&o); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	toArchive, reads := strings.HasPrefix(destination, fileScheme), len(f.from) > 0
	switch {
	case f.repair != "" && f.failures != "":
		return o, usageHint("leave it out: what the sources do not have is on stderr", "--failures cannot be combined with --repair")
	case f.repair != "":
		f.sign.what = "the repair"
		return o, errors.Join(f.sign.check(true, signedArchives), f.archiveTrust.check(false))
	case f.writeReceipt != "" && f.sign.key != "" && !env.IsFile(f.writeReceipt):
		return o, usageHint("name a file", "the signature of the receipt is written beside it, and --write-receipt %s is not a regular file", f.writeReceipt)
	case reads:
		f.sign.what = "the receipt"
	default:
		f.sign.what = "the archive"
	}
	return o, errors.Join(f.encryptFlags.check(toArchive), f.sign.check(toArchive || reads, signedArchives),
		f.archiveTrust.check(reads || len(f.base.receipts) > 0 || toArchive && f.sign.key != "" || f.plan != "" && f.archiveTrust.keysOnly()), f.checkWorkspace())
}

// parse sets the options whose flags are texts with a form of their own.
func (f *mirrorFlags) parse(o *mirroring.Options) (err error) {
	if f.shard != "" {
		if o.Shard, err = plan.ParseJobShard(f.shard, f.getenv); err != nil {
			return usagef("--shard: %w", err)
		}
	}
	if o.Window, err = copying.ParseWindows(f.window); err != nil {
		return err
	}
	if f.base.since != "" {
		if o.Since, err = mirroring.ParseSince(f.base.since); err != nil {
			return err
		}
	}
	if f.withGantry {
		if o.WithGantry, err = os.Executable(); err != nil {
			return err
		}
	}
	if !f.ownWorkspace {
		o.Workspace = "" // the default depends on the layout
	}
	if f.volumeSize != "" {
		if o.VolumeSize, err = archive.ParseVolumeSize(f.volumeSize); err != nil {
			return usagef("--volume-size: %w", err)
		}
	}
	if f.onStrand == "" {
		return usageHint("use "+strings.Join(admission.OnStrands(), ", "), "--on-strand %q", f.onStrand)
	}
	if f.onError == "" {
		return usageHint("use "+strings.Join(copying.OnErrors(), " or "), "--on-error %q", f.onError)
	}
	return f.deltas.apply(&o.ArchiveOptions)
}

func (a *app) mirror(ctx context.Context, f mirrorFlags, destination string) error {
	o, err := f.options(destination)
	if err != nil {
		return err
	}
	if f.config != "" { // before a prompt for a passphrase
		if _, err := o.Load(); err != nil {
			return err
		}
	}
	if o.SigningKey, err = a.signKey(ctx, f.sign); err != nil {
		return err
	}
	if o.EncryptTo, err = a.encryption(&f.encryptFlags); err != nil {
		return err
	}
	if len(f.from) > 0 {
		if o.Read, err = a.reading(&f.archiveTrust); err != nil {
			return err
		}
		if _, ok := onTerminal(f.stdin); ok {
			o.AskFolder = func(missing string) (string, error) { return a.askFolder(f.stdin, missing) }
		}
	}
	o.Trust = func() (*sshsig.Policy, error) { return a.policy(&f.archiveTrust) }
	o.Env = a.environment(&f.registryFlags)
	a.copies = a.newOcMirrorLog()
	result, err := mirroring.Run(ctx, o)
	if logErr := a.copies.end(result, f.workspace, f.layout); logErr != nil {
		return errors.Join(err, logErr)
	}
	if result != nil && result.Report != nil {
		for i := range result.Report.Failed {
			result.Report.Failed[i].Reason = flagNames(result.Report.Failed[i].Reason)
		}
	}
	if result != nil {
		nameFlagsIn(result.Resources)
	}
	if f.failures != "" && result != nil && result.Plan != nil {
		if writeErr := durable.Write(f.failures, view.FailureLines(result)); writeErr != nil {
			return errors.Join(err, writeErr)
		}
	}
	if shown := a.showMirrored(&f, destination, result, err); shown != nil {
		return shown
	}
	return err
}

// showMirrored prints what a run did that ended with err.
func (a *app) showMirrored(f *mirrorFlags, destination string, result *mirroring.Result, err error) error {
	var stopped *mirror.StopError
	var partial *admission.PartialError
	var replaced *admission.ReplacedError
	pruned := f.prune && result != nil && result.Report != nil && result.Report.Complete()
	switch {
	case result == nil:
	case errors.As(err, &replaced):
		return a.showRefused(result)
	case errors.As(err, &stopped):
		if a.output != outputJSON {
			a.sayFailed(result.Report)
		}
	case result.Repaired != nil:
		return a.showRepair(result)
	case f.resourcesOnly:
		return a.showResources(result)
	case f.dryRun:
		return a.showPlan(&shownPlan{1, result.Plan, result.PlanDigest, destination, result.ToCopy, result.PlannedDeltas, result.Resources, result.Replaced, result.Warnings, result.Verified, result.UnsignedImages, result.Gate, nil})
	case err == nil || errors.As(err, &partial) || pruned:
		return a.showResult(result, f.notesAt(), f.pullFlags(destination))
	}
	return nil
}

// notesAt returns the clause that says where the notes of the plan are, or "" if the user cannot act on
// them: they are about the configuration, which an archive does not bring.
func (f *mirrorFlags) notesAt() string {
	switch {
	case f.config != "" && len(f.from) == 0:
		command := "gantry plan -c " + view.ShellWord(f.config)
		if f.format != "" {
			command += " --dest-format " + view.ShellWord(f.format)
		}
		return command + " prints them"
	case f.plan != "":
		return view.Printable(f.plan) + " lists them"
	}
	return ""
}

// askFolder asks on the terminal for another folder. It returns "" if the user has none.
func (a *app) askFolder(stdin io.Reader, missing string) (string, error) {
	in, _ := onTerminal(stdin)
	a.say("%s", missing)
	if err := a.makeRaw(in); err != nil {
		return "", fmt.Errorf("asking for a folder: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{in, a.stderr}
	dir, err := term.NewTerminal(screen, "Folder that has it (empty to give up): ").ReadLine()
	if err != nil {
		err = unanswered(screen, err)
	}
	return dir, errors.Join(err, a.restoreTerminal())
}
