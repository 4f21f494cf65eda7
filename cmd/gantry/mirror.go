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
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// signedArchives is what gantry mirror signs.
const signedArchives = "file:// destinations and for --from"

// mirrorFlags are the flags of gantry mirror.
type mirrorFlags struct {
	registryFlags
	options      mirroring.Options
	sign         signFlags
	archiveTrust trustFlags
	encryptFlags
	base         baseFlags
	blobs        blobFlags
	deltas       deltaFlags
	stdin        io.Reader
	ownWorkspace bool // it is given
	withGantry   bool
	failures     string
	report       reportFlag
	window       []string
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
			f.stdin = cmd.InOrStdin()
			f.sign.stdin = f.stdin
			f.ownWorkspace = cmd.Flags().Changed("workspace")
			f.options.Destination = args[0]
			return a.mirror(cmd.Context(), &f)
		},
	}
	o := &f.options
	inputs{&o.Selection, &o.ReleaseTrust, &o.Name, &o.Workspace, &o.RemoveSignatures}.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	addImageTrust(c.Flags(), &o.ImageTrust)
	addGates(c.Flags(), &o.Gates)
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.sign.addFlags(c.Flags(), "sign the archive, or with --from the receipt,")
	f.archiveTrust.addFlags(c.Flags())
	f.encryptFlags.addFlags(c.Flags())
	addUnneeded(c.Flags())
	c.Flags().StringVar(&o.Plan, "plan", "", "copy exactly this plan, a file from gantry plan --lock")
	c.Flags().BoolVar(&o.RequireSignedPlan, "require-signed-plan", false, "with --plan, refuse a plan that is not signed by a key of --verify-key or --allowed-signers")
	parsedFlag(c.Flags(), &o.Shard, "shard", "string", "", optional(func(s string) (plan.Shard, error) { return plan.ParseJobShard(s, a.getenv) }), "with --plan, copy only this part of it: 2/4 is the second of four, which several hosts copy at the same time; job/4 in a pod of an Indexed Job")
	c.Flags().IntVar(&o.Finish, "finish", 0, "with --plan, publish catalogs, releases and cluster resources after this number of shards was copied")
	f.base.addFlags(c.Flags())
	f.blobs.addFlags(c.Flags())
	f.deltas.addFlags(c.Flags())
	c.Flags().Var((*archives)(&o.From), "from", "read from the archive in this folder, file://DIR, instead of the sources (may be repeated, or with commas)")
	c.Flags().StringVar(&o.Repair, "repair", "", "write an archive with the content of this request, a file from gantry archive repair-request")
	c.Flags().StringVar(&o.WriteReceipt, "write-receipt", "", "with --from, also write the receipt of what the mirror has to this file")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be copied, and copy nothing")
	c.Flags().BoolVar(&o.ResourcesOnly, "resources-only", false, "write the cluster resources for what would be in the registry, and copy nothing")
	c.Flags().BoolVar(&o.Prune, "prune", false, "after a complete run to a registry, delete what none of its image sets needs, as gantry prune --yes does")
	c.Flags().IntVar(&o.MaxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the destination; 0 is no limit")
	c.Flags().BoolVar(&o.TagUntagged, "tag-untagged", false, "give every manifest a tag of its own, for garbage collection that deletes untagged manifests")
	c.Flags().BoolVar(&o.CreateRepositories, "create-repositories", false, "create the repositories or projects that the plan needs on Amazon ECR, Harbor or Quay, as gantry registry prepare does")
	addRegistryAPI(c.Flags(), &o.API)
	parsedFlag(c.Flags(), &o.VolumeSize, "volume-size", "string", "", optional(archive.ParseVolumeSize), "maximum size of an archive's volumes: 4GiB, 4.7GB, cd, fat32, dvd, dvd-dl, bd or bd-dl (default: archiveSize of the configuration)")
	c.Flags().BoolVar(&o.StrictArchive, "strict-archive", false, "fail if a blob is larger than a volume, instead of splitting it")
	parsedFlag(c.Flags(), &o.Redundancy, "redundancy", "percentage", "", parsePercentage, "add parity files for this share of an archive's volumes, such as 10%, from which lost or damaged volumes are rebuilt (gantry archive rebuild)")
	c.Flags().StringVar(&o.OnError, "on-error", selection.OnErrorContinue, "if images are unavailable: stop, continue without them, or package: also exclude the packages that name them")
	c.Flags().StringVar(&o.OnStrand, "on-strand", admission.OnStrandKnown, onStrandUsage)
	addForget(c.Flags(), &o.Selection)
	c.Flags().BoolVar(&o.AllowOlder, "allow-older", false, "replace catalogs at the destination by older ones, or import an archive that is older than the last one")
	c.Flags().BoolVar(&f.withGantry, "with-gantry", false, "also write this program beside the volumes of an archive, with its SHA-256")
	c.Flags().StringVar(&f.failures, "failures", "", "write what is not at the destination to this file, one JSON object per line")
	f.report.addFlag(c.Flags(), "what the run did")
	c.Flags().StringSliceVar(&f.window, "window", nil, "copy only at these times of the day, 22:00-05:00 in the local time zone, and pause in between (may be repeated, or with commas)")
	c.Flags().StringVar(&o.SummaryFile, "summary", "", "write a Markdown summary of the run to this file: what is new, what failed, what to do next")
	c.Flags().StringVar(&o.MetricsFile, "metrics-file", "", "write metrics of the run for Prometheus to this file (node_exporter's textfile collector)")
	c.Flags().StringVar(&o.Layout, "layout", "", "names of files: gantry, or oc-mirror for working-dir/cluster-resources, logs, dry-run and mirror_000001.tar (default: what the workspace uses, or gantry)")
	c.Flags().StringVar(&o.For, "for", "", forUsage)
	c.Flags().BoolVar(&o.ICSP, "icsp", false, icspUsage)
	c.Flags().StringVar(&o.ResourceName, "resource-name", "", "name in mirror sets and the UpdateService, idms-operator-NAME-0, if a cluster uses several mirrors (default: none for the first mirror of a workspace)")
	c.Flags().BoolVar(&o.RenameCatalogs, "rename-catalogs", false, "give CatalogSources and ClusterCatalogs the names that oc mirror gives them, in place of those that were saved")
	c.Flags().StringVar(&o.MirrorSourcePolicy, "mirror-source-policy", "", "mirrorSourcePolicy of the mirror sets: NeverContactSource or AllowContactingSource")
	c.Flags().StringVar(&o.ImagePolicies, "image-policies", "", "with --policy, version of the ClusterImagePolicies that are written: v1, v1alpha1 (OpenShift 4.16 to 4.19), or none (default: v1)")
	c.Flags().StringVar(&o.ImagePolicyNamespace, "image-policy-namespace", "", "write ImagePolicies for this namespace instead of ClusterImagePolicies")
	return c
}

// read returns the options that the flags set, without keys, and checks them.
func (f *mirrorFlags) read() (o mirroring.Options, err error) {
	if err := cmp.Or(f.base.resolve(f.options.Repair), f.blobs.resolve()); err != nil {
		return o, err
	}
	o = f.options
	o.Summarize, o.Full, o.Receipts = summarize, f.base.full, f.base.receipts
	o.CheckBlobs, o.ReadBlobs, o.RepairMissing = f.blobs.check, f.blobs.read, f.blobs.repair
	toArchive, reads := strings.HasPrefix(o.Destination, fileScheme), len(o.From) > 0
	// For archives, the keys may be those of earlier ones.
	o.RequireSignedPlan = o.RequireSignedPlan || o.Plan != "" && !toArchive && f.archiveTrust.requires()
	if err := f.parse(&o); err != nil {
		return o, err
	}
	if err := cmp.Or(o.Check(), f.report.check(f.failures, o.SummaryFile, o.MetricsFile, o.WriteReceipt)); err != nil {
		return o, err
	}
	switch {
	case o.Repair != "" && f.report != "":
		return o, usageHint("leave it out: gantry archive inspect --report describes the repair", "--report cannot be combined with --repair")
	case o.Repair != "" && f.failures != "":
		return o, usageHint("leave it out: what the sources do not have is on stderr", "--failures cannot be combined with --repair")
	case o.Repair != "":
		f.sign.what = "the repair"
		return o, errors.Join(f.sign.check(true, signedArchives), f.archiveTrust.check(false))
	case o.WriteReceipt != "" && f.sign.key != "" && !env.IsFile(o.WriteReceipt):
		return o, usageHint("name a file", "the signature of the receipt is written beside it, and --write-receipt %s is not a regular file", o.WriteReceipt)
	case reads:
		f.sign.what = "the receipt"
	default:
		f.sign.what = "the archive"
	}
	return o, errors.Join(f.encryptFlags.check(toArchive), f.sign.check(toArchive || reads, signedArchives),
		f.archiveTrust.check(reads || len(o.Receipts) > 0 || toArchive && f.sign.key != "" || o.Plan != "" && f.archiveTrust.keysOnly()), checkWorkspace(f.options.Workspace))
}

// parse sets the options whose flags are texts with a form of their own.
func (f *mirrorFlags) parse(o *mirroring.Options) (err error) {
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
	if o.OnStrand == "" {
		return usageHint("use "+strings.Join(admission.OnStrands(), ", "), "--on-strand %q", o.OnStrand)
	}
	if o.OnError == "" {
		return usageHint("use "+strings.Join(copying.OnErrors(), " or "), "--on-error %q", o.OnError)
	}
	return f.deltas.apply(&o.ArchiveOptions)
}

func (a *app) mirror(ctx context.Context, f *mirrorFlags) error {
	o, err := f.read()
	if err != nil {
		return err
	}
	if o.Config != "" { // before a prompt for a passphrase
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
	if len(o.From) > 0 {
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
	o.Page = f.report != ""
	result, err := mirroring.Run(ctx, o)
	written := a.copies.end(result, f.options.Workspace, o.Layout)
	if result != nil && result.Report != nil {
		for i := range result.Report.Failed {
			result.Report.Failed[i].Reason = flagNames(result.Report.Failed[i].Reason)
		}
	}
	if result != nil {
		nameFlagsIn(result.Resources)
	}
	if f.failures != "" && result != nil && result.Plan != nil {
		written = errors.Join(written, durable.Write(f.failures, view.FailureLines(result)))
	}
	if f.report != "" {
		written = errors.Join(written, f.report.write(a, result.Page(&o.Selection, err)))
	}
	shown := a.showMirrored(f, result, err)
	if written != nil {
		err = errors.Join(err, written)
	}
	return cmp.Or(shown, err)
}

// showMirrored prints what a run did that ended with err.
func (a *app) showMirrored(f *mirrorFlags, result *mirroring.Result, err error) error {
	var stopped *mirror.StopError
	var partial *admission.PartialError
	var replaced *admission.ReplacedError
	o := &f.options
	pruned := o.Prune && result != nil && result.Report != nil && result.Report.Complete()
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
	case o.ResourcesOnly:
		return a.result(result, func() string {
			absoluteResources(result.Resources)
			return view.ResourcesOnly(result)
		})
	case o.DryRun:
		return a.showPlan(&shownPlan{1, result.Plan, result.PlanDigest, o.Destination, result.ToCopy, result.PlannedDeltas, result.Resources, result.Replaced, result.Warnings, result.Verified, result.UnsignedImages, result.Gate, nil, result.Plan.Notes})
	case err == nil || errors.As(err, &partial) || pruned || result.NoError:
		return a.showResult(result, notesAt(o), f.pullFlags())
	}
	return nil
}

// notesAt returns the clause that says where the notes of the plan are, or "" if the user cannot act on
// them: they are about the configuration, which an archive does not bring.
func notesAt(o *mirroring.Options) string {
	switch {
	case o.Config == "/dev/stdin", strings.HasPrefix(o.Config, "/dev/fd/"): // it cannot be read again
	case o.Config != "" && len(o.From) == 0:
		command := "gantry plan -v -c " + view.ShellWord(o.Config)
		if o.DestFormat != "" {
			command += " --dest-format " + view.ShellWord(o.DestFormat)
		}
		return command + " prints them"
	case o.Plan != "":
		return view.Printable(o.Plan) + " lists them"
	}
	return ""
}

// askFolder asks on the terminal for another folder, again if there is no such folder. It returns "" if the user has none.
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
	terminal := term.NewTerminal(screen, "Folder that has it (empty to give up): ")
	dir, err := terminal.ReadLine()
	for err == nil && dir != "" {
		at := strings.TrimPrefix(strings.TrimSpace(dir), env.ArchiveScheme)
		info, statErr := os.Stat(at)
		if statErr == nil && info.IsDir() {
			break
		}
		_, err = fmt.Fprintf(terminal, "there is no folder %q\n", at)
		if err == nil {
			dir, err = terminal.ReadLine()
		}
	}
	if err != nil {
		err = unanswered(screen, "asking for the folder", err)
	}
	return dir, errors.Join(err, a.restoreTerminal())
}
