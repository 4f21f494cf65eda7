package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// mirrorFlags are those of gantry mirror.
type mirrorFlags struct {
	inputs
	sides
	sign  signFlags
	trust trustFlags
	encryptFlags
	sinceFlags
	from           []string
	repair         string
	writeReceipt   string
	stdin          io.Reader
	dryRun         bool
	maxNestedPaths int
	strictArchive  bool
	volumeSize     string
	checkBlobs     bool
	sourcePolicy   string
	onError        string
}

func (a *app) mirrorCommand() *cobra.Command {
	var f mirrorFlags
	c := &cobra.Command{
		Use:   "mirror {-c FILE | --plan FILE | --from file://DIR | --repair FILE} DESTINATION",
		Short: "Bring content to a mirror registry, an archive or a layout",
		Long: `Mirror copies what the destination lacks. The destination decides the way:

  docker://HOST[:PORT][/PREFIX]   a registry that clusters pull from; the
                                  manifests to apply are written to the workspace
  file://DIR                      an archive on a medium that is carried; on the
                                  other side it is what --from names
  oci://DIR                       a plain OCI image layout

An archive has what the archives before it lack: those that this workspace
wrote of the configuration, or that lie in the folder. --since, --receipt and
--full say otherwise. On the other side, --from takes the folders of several media.

--encrypt-to encrypts an archive to age recipients, so that nothing of it can be
read on the way; --identity reads it.

A run that was interrupted is run again and goes on where it stopped. A run that
finds everything in place copies nothing and says so.

When images cannot be had, --on-error says what becomes of the rest:

  continue   everything else is copied; a catalog that names such an image is not
             published, and the one before stays. An archive or a layout that
             lacks an image which the plan has stays unfinished. Exit status 3
  package    everything else is copied; catalogs are built and published, and
             archives finished, without the packages that name such an image,
             which are listed. Exit status 3
  stop       the run ends with the first such image, when what is under way has
             ended, and no cluster resources are written. Exit status 1, or that
             of the image's error

` + exitStatusHelp,
		Example: `  gantry mirror -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry mirror -c imageset.yaml file:///media/disk
  gantry mirror --from file:///media/disk docker://mirror.example.com:5000/ocp
  gantry mirror -c imageset.yaml --sign-key ~/.ssh/id_ed25519 file:///media/disk
  gantry mirror -c imageset.yaml --encrypt-to age1... file:///media/disk
  gantry mirror --from file:///media/disk --identity identity.txt docker://mirror.example.com:5000/ocp
  gantry mirror --from file:///media/disk --verify-key ops.pub docker://mirror.example.com:5000/ocp
  gantry mirror --from file:///media/a --from file:///media/b docker://mirror.example.com:5000/ocp
  gantry mirror -c imageset.yaml --receipt site.json file:///media/disk
  gantry mirror --repair request.json file:///media/disk
  gantry mirror --plan plan.json docker://mirror.example.com:5000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &hintError{errors.New("no destination"), ": ", "write docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR"}
			}
			return cobra.ExactArgs(1)(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.sayUnneeded(cmd.Flags())
			f.stdin = cmd.InOrStdin()
			f.sign.stdin = f.stdin
			return a.mirror(cmd.Context(), f, args[0])
		},
	}
	f.inputs.addFlags(c.Flags())
	f.sides.addFlags(c.Flags())
	f.sign.addFlags(c.Flags())
	f.trust.addFlags(c.Flags())
	f.encryptFlags.addFlags(c.Flags())
	addUnneeded(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "copy exactly this plan, as gantry plan -o wrote it")
	f.sinceFlags.addFlags(c.Flags())
	c.Flags().StringSliceVar(&f.from, "from", nil, "read from the archive in this folder (file://DIR) instead of the sources (may be repeated, or with commas)")
	c.Flags().StringVar(&f.repair, "repair", "", "write an archive with what this request wants, which gantry archive repair-request wrote")
	c.Flags().StringVar(&f.writeReceipt, "write-receipt", "", "with --from, write the receipt of what the mirror has to this file, too")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "plan and say what would be copied, but copy nothing")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "path components that the destination allows; 0 is no limit")
	c.Flags().StringVar(&f.volumeSize, "volume-size", "", "the most that a volume of an archive may have: 4GiB, 4.7GB, or cd, fat32, dvd, dvd-dl, bd, bd-dl (default: archiveSize of the configuration)")
	c.Flags().BoolVar(&f.strictArchive, "strict-archive", false, "fail on a blob larger than a volume may be instead of cutting it into parts")
	c.Flags().BoolVar(&f.checkBlobs, "check-blobs", false, "ask the mirror for every blob, and bring those that it lost, instead of taking an image for whole where its manifest is there; read what a layout has, and bring what is damaged")
	c.Flags().StringVar(&f.onError, "on-error", onErrorContinue, "when images cannot be had: stop, continue or package")
	c.Flags().StringVar(&f.sourcePolicy, "mirror-source-policy", "", "mirrorSourcePolicy of the mirror sets: NeverContactSource or AllowContactingSource")
	return c
}

// check refuses flags that contradict each other.
func (f *mirrorFlags) check(destination string) error {
	toArchive, reads := strings.HasPrefix(destination, fileScheme), len(f.from) > 0
	if f.repair != "" {
		return f.checkRepair(destination)
	}
	switch {
	case !reads && f.config == "" && f.plan == "":
		return usageHint("give -c imageset.yaml, --plan plan.json or --from file://DIR", "nothing to mirror")
	case f.plan != "" && (f.config != "" || reads):
		return usageHint("leave -c and --from out", "--plan says all that is mirrored")
	case reads && toArchive:
		return usageHint("copy the folder instead", "--from reads an archive and %s would write one", destination)
	case f.writeReceipt != "" && (!reads || !strings.HasPrefix(destination, dockerScheme)):
		return usagef("--write-receipt is for --from and docker:// destinations")
	case f.writeReceipt != "" && f.sign.key != "" && !isFile(f.writeReceipt):
		return usageHint("name a file", "the signature of the receipt is put beside it, and --write-receipt %s is no regular file", f.writeReceipt)
	case f.sourcePolicy != "" && !strings.HasPrefix(destination, dockerScheme):
		return usagef("--mirror-source-policy is for docker:// destinations")
	case f.sourcePolicy != "" && !slices.Contains(resources.SourcePolicies(), f.sourcePolicy):
		return usageHint("give "+strings.Join(resources.SourcePolicies(), " or "), "--mirror-source-policy %q", f.sourcePolicy)
	case !slices.Contains(onErrors(), f.onError):
		return usageHint("give "+strings.Join(onErrors(), " or "), "--on-error %q", f.onError)
	case f.checkBlobs && toArchive:
		return usagef("--check-blobs is for docker:// and oci:// destinations")
	case f.strictArchive && !toArchive:
		return usagef("--strict-archive is for file:// destinations")
	case f.volumeSize != "" && !toArchive:
		return usagef("--volume-size is for file:// destinations")
	case f.given() && (f.config == "" || reads):
		return errNoSelection
	}
	if _, err := folders("--from ", f.from); err != nil {
		return err
	}
	f.sign.what = "the archive"
	if reads {
		f.sign.what = "the receipt"
	}
	err := errors.Join(f.sinceFlags.check(toArchive), f.encryptFlags.check(toArchive), f.sign.check(toArchive || reads), f.trust.check(reads || f.receipt != "" || toArchive && f.sign.key != ""))
	if err != nil {
		return err
	}
	return f.checkName()
}

// isFile reports whether what is written to path becomes a file there.
func isFile(path string) bool {
	_, regular, err := durable.Resolve(path)
	return regular || err != nil // which is told when it is written
}

func (a *app) mirror(ctx context.Context, f mirrorFlags, destination string) error {
	if err := f.check(destination); err != nil {
		return err
	}
	if f.repair != "" {
		return a.repair(ctx, f, destination)
	}
	opts := targetOptions{sides: &f.sides, maxNestedPaths: f.maxNestedPaths, strictArchive: f.strictArchive, checkBlobs: f.checkBlobs}
	if f.volumeSize != "" {
		var err error
		if opts.volumeSize, err = archive.ParseVolumeSize(f.volumeSize); err != nil {
			return usagef("--volume-size: %w", err)
		}
	}
	if f.config != "" {
		if err := f.load(); err != nil {
			return err
		}
	}
	key, err := a.signKey(ctx, f.sign)
	if err != nil {
		return err
	}
	opts.sign = signWith(key)
	if opts.encrypt, err = a.encryption(&f.encryptFlags); err != nil {
		return err
	}
	t, err := a.target(destination, opts)
	if err != nil {
		return err
	}
	var have *archive.Archive
	if len(f.from) > 0 {
		if have, err = a.openArchive(&f, 0); err != nil {
			return err
		}
		defer func() { _ = have.Close() }() // only read from
		a.saySigned(have)
	}
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return err
	}
	defer a.leave(s)
	if r := t.registry(); r != nil {
		defer r.meet(ctx)() // while the plan is made
	}
	p, err := a.planOf(ctx, f, s, have, t)
	if err != nil {
		return err
	}
	var c *carry.Chain
	if have != nil {
		if c, err = a.fit(ctx, &f, s, t, have, p); err != nil {
			return err
		}
		have = c.Archive // another one, where more folders were named
	}
	if to, ok := t.(*archiveTarget); ok {
		if err := a.prepare(ctx, s, to, &f, key, p); err != nil {
			return err
		}
	}
	j, err := newJob(ctx, f.onError, p, s, have, t)
	if err != nil {
		return err
	}
	p = j.Plan()
	if err := s.admit(ctx, t, p, f.inputs, f.policy()); err != nil {
		return err
	}
	if f.dryRun {
		missing, err := t.look(ctx, p)
		if err != nil {
			return err
		}
		asked := len(j.Asked().Missing)
		if err := a.showPlan(p, destination, missing); err != nil || asked == 0 {
			return err
		}
		return &partialError{failed: asked, planned: true}
	}
	result, err := a.carryOut(ctx, f, s, j)
	if err != nil {
		return err
	}
	result.Version, result.Destination = 1, destination
	if to, ok := t.(*archiveTarget); ok {
		result.Archive = to.next.Written()
	}
	if have != nil {
		result.Signature = signatureOf(have)
		if result.Receipt, err = c.Note(ctx, j.Plan(), result.Report, carry.NoteOptions{File: f.writeReceipt, Sign: opts.sign}); err != nil {
			return err
		}
	}
	if err := a.showResult(result); err != nil {
		return err
	}
	if !result.Report.Complete() {
		partial := newPartialError(result.Report)
		partial.buildsOn = have != nil && len(have.Newest().BuildsOn) > 0
		return partial
	}
	return nil
}

// planOf makes or reads the plan; have is the archive that has it, where there is
// one.
func (a *app) planOf(ctx context.Context, f mirrorFlags, s *session, have *archive.Archive, t target) (*plan.Plan, error) {
	switch {
	case have != nil:
		if f.config != "" {
			a.say("the plan in %s says what is mirrored; %s was only checked", strings.Join(f.from, ", "), f.config)
		}
		p, err := carry.ReadPlan(ctx, have)
		if errors.Is(err, os.ErrNotExist) && t.registry() != nil {
			p, err = carry.ImportedPlan(s.Workspace, t.registry().key(), have, err)
		}
		if err == nil {
			err = a.verifyReleases(s.client, p, f.releaseFlags)
		}
		return f.rename(p), err
	case f.plan != "":
		p, err := a.loadPlan(ctx, f.plan, s, f.releaseFlags)
		if p = f.rename(p); err == nil {
			err = s.SavePlan(p.Name, p.Write)
		}
		return p, err
	default:
		return a.makePlan(ctx, f.inputs, s, &f.sides)
	}
}

// carryOut does the job and, for a registry, writes the cluster resources.
func (a *app) carryOut(ctx context.Context, f mirrorFlags, s *session, j *job) (*mirrorResult, error) {
	result := &mirrorResult{}
	var err error
	if result.Report, result.Transfer, err = a.copy(ctx, f, s, j); err != nil {
		var stopped *mirror.StopError
		if errors.As(err, &stopped) && a.output != outputJSON {
			a.sayFailed(result.Report)
		}
		return nil, err
	}
	result.Notes, result.Blocked, result.gaps = j.Plan().Notes, len(j.Plan().Blocked), gaps(j.Plan())
	if r := j.target.registry(); r != nil {
		result.Resources, err = s.saveResources(ctx, r, j.Plan(), result.Report, f.policy())
	}
	return result, err
}

// copy does the job, shows progress and keeps the journal, and has cancelled the uploads
// that a run which was killed left open, and those that could not be while it went on.
func (a *app) copy(ctx context.Context, f mirrorFlags, s *session, j *job) (*mirror.Report, *transfer, error) {
	streams, err := f.streams()
	if err != nil {
		return nil, nil, err
	}
	opts := mirror.Options{Streams: streams, Fatal: fatal, Stop: f.onError == onErrorStop, Log: a.log}
	finish := func(bool) error { return nil }
	if r := j.target.registry(); r != nil {
		if opts.Receipt, err = s.receipt(r, j.Plan().Name); err != nil {
			return nil, nil, err
		}
		journal, err := s.Journal(r.key())
		if err != nil {
			return nil, nil, err
		}
		uploads, err := s.Uploads(r.key())
		if err != nil {
			return nil, nil, errors.Join(err, journal.Done(false))
		}
		if err := suppose(r, j.Plan(), uploads, journal); err != nil {
			return nil, nil, errors.Join(err, journal.Done(false), uploads.Close())
		}
		a.cancelLeft(ctx, r.client, uploads)
		r.client.LogSessions(uploads)
		opts.Journal, finish = journal, func(finished bool) error {
			a.cancelLeft(ctx, r.client, uploads)
			return errors.Join(journal.Done(finished), uploads.Close())
		}
	}
	report, took, err := a.runJob(ctx, j, opts)
	return report, took, errors.Join(err, finish(err == nil && report.Complete()))
}

func (f *mirrorFlags) policy() resources.Options {
	return resources.Options{MirrorSourcePolicy: f.sourcePolicy}
}
