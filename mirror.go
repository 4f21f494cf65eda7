package gantry

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan"
)

// What a run does when images are unavailable.
const (
	// OnErrorContinue copies everything else, and does not publish what names such an image.
	OnErrorContinue = "continue"
	// OnErrorPackage also builds catalogs without the packages that name such an image.
	OnErrorPackage = "package"
	// OnErrorStop ends the run.
	OnErrorStop = "stop"
)

// OnErrors returns the values of MirrorOptions.OnError.
func OnErrors() []string { return []string{OnErrorStop, OnErrorContinue, OnErrorPackage} }

// MirrorOptions says what Mirror copies, and where to. Destination is required, and one of Config,
// Plan, From and Repair.
type MirrorOptions struct {
	Env *Env
	Selection
	ReleaseTrust
	ImageTrust
	// ImagePolicies is the version of the ClusterImagePolicies that are written for images that
	// ImageTrust verified: ImagePolicyV1, which is the default, ImagePolicyV1alpha1 or NoImagePolicies.
	ImagePolicies string
	// ImagePolicyNamespace writes ImagePolicies for this namespace in place of ClusterImagePolicies.
	ImagePolicyNamespace string
	// Plan is the file of a plan, which is copied exactly.
	Plan string
	// From are the folders of an archive, each as file://DIR: content is copied from there.
	From []string
	// Repair is the file of a repair request. The content that it lists is written to an archive.
	Repair string
	// Destination is docker://HOST[:PORT][/PREFIX], file://DIR or oci://DIR.
	Destination string
	// Name is the name of the configuration in the workspace, and of its plan. The default is the
	// name of its file.
	Name string
	// Workspace is the folder for plans, the cache and cluster resources. The default is
	// DefaultWorkspace.
	Workspace string
	// Layout is how files for users are called: GantryLayout or OCMirrorLayout. With the latter, the
	// folder working-dir in the workspace has cluster-resources/, logs/ and dry-run/ with the names of
	// oc mirror, and volumes of archives are called mirror_000001.tar. The workspace keeps the layout;
	// the default is that one, or GantryLayout. With OCMirrorLayout, the default of Workspace is
	// working-dir in the folder of From or of an archive that is written.
	Layout string
	// WithGantry is the path of a program, usually this one, that is written beside an archive with its
	// checksum, for sites that have no Gantry yet.
	WithGantry string
	// DryRun copies nothing: MirrorResult.ToCopy is what would be copied. With Plan, Installed or
	// Dependencies, the plan is not saved in the workspace either.
	DryRun bool
	// ResourcesOnly writes the cluster resources for what would be in the registry after the copy, and
	// copies nothing. The registry is not asked for anything.
	ResourcesOnly bool
	// CheckBlobs asks a registry for every blob, and reads every blob of a layout, and copies those
	// that are missing or damaged. The default requests some of them, different ones in each run.
	CheckBlobs bool
	// ReadBlobs is CheckBlobs that reads every manifest and blob of a registry, too, and compares it
	// with its digest.
	ReadBlobs bool
	// RemoveSignatures leaves out the signatures and other referrers of images, as mirror.signatures:
	// remove does in Config.
	RemoveSignatures bool
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// OnError is what to do when images are unavailable. The default is OnErrorContinue.
	OnError string
	// MirrorSourcePolicy is the mirrorSourcePolicy of the cluster resources.
	MirrorSourcePolicy string
	// For are the clusters that apply the cluster resources: "openshift-4.20" or "kubernetes", and further
	// components, separated by commas: "openshift-4.20,update-service". The default is the one of the run
	// before, or the oldest OpenShift that the mirror has releases or catalogs for.
	For string
	// ICSP writes ImageContentSourcePolicies for clusters before OpenShift 4.13, in place of mirror sets.
	ICSP bool
	// again means that Resources writes them: how the mirror is reached is as in the last run.
	again bool
	// ResourceName becomes part of the names of mirror sets and of the UpdateService, so that those of
	// several mirrors exist beside each other in a cluster. The default is no name for the first mirror
	// of a workspace, and the name of the image set for others. The workspace keeps it.
	ResourceName string
	// RenameCatalogs forgets the names that CatalogSources and ClusterCatalogs have, and names them as
	// oc mirror does.
	RenameCatalogs bool
	// WriteReceipt is the file for the receipt of what the registry has of an archive. The default
	// is in the workspace.
	WriteReceipt string

	// StrictArchive refuses a blob larger than a volume instead of splitting it.
	StrictArchive bool
	// VolumeSize is the maximum size of an archive's volumes in bytes. The default is the one of
	// the configuration.
	VolumeSize int64
	// Since, Full and Receipt say what an archive omits; only one may be set. Since is a sequence
	// ("2") or a date ("2026-10-01") that the site has, Full omits nothing, and Receipt is a file
	// that Mirror wrote at the site. The default omits what earlier archives of the workspace have.
	Since   string
	Full    bool
	Receipt string
	// SigningKey signs an archive or a receipt that is written. Nil signs nothing.
	SigningKey *sshsig.Key
	// EncryptTo has the recipients that an archive is encrypted to. Nil does not encrypt it.
	EncryptTo *archive.Encryption

	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
	// Trust returns the policy for signatures of earlier archives and receipts. It is called when a
	// signature has to be checked. Nil trusts no signature.
	Trust func() (*sshsig.Policy, error)
	// AskFolder asks for the folder of volumes or archives that are missing, and returns "" if the
	// user has none. Nil asks nothing.
	AskFolder func(missing string) (dir string, err error)
}

// A MirrorResult is what a run did. Its JSON is what gantry mirror --output json prints.
type MirrorResult struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	// Signature is the one of the archive that was read; nil if it is not signed.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	Report    *mirror.Report  `json:"report"`
	// Verified is what the signature policy found; nil if none was applied.
	Verified *VerifiedSignatures `json:"verifiedSignatures,omitempty"`
	// Notes are those of the plan. Blocked is how many images mirror.blockedImages removed from it.
	Notes   []string `json:"notes,omitempty"`
	Blocked int      `json:"blocked,omitempty"`
	// SmallerIndexes are the images whose index was rewritten, or was requested to be.
	SmallerIndexes []SmallerIndex `json:"smallerIndexes,omitempty"`
	Resources      *ResourceFiles `json:"resources,omitempty"`
	Transfer       *Transfer      `json:"transfer,omitempty"`
	// Archive is the archive that was written; nil for other destinations.
	Archive *airgap.ExportResult `json:"archive,omitempty"`
	// Receipt is the file that lists what the mirror has of the archive that was read, or "".
	Receipt string `json:"receipt,omitempty"`
	// Warnings are those about the configuration.
	Warnings []ConfigProblem `json:"warnings,omitempty"`
	// Charts are the Helm charts at the destination. Of an archive, they are installed when it is mirrored to a
	// registry.
	Charts []MirroredChart `json:"charts,omitempty"`
	// Files are the files at the destination.
	Files []MirroredFile `json:"files,omitempty"`
	// Program is the program beside the archive; nil without WithGantry.
	Program *AddedProgram `json:"program,omitempty"`

	// Plan is what was copied.
	Plan *plan.Plan `json:"-"`
	// ToCopy is what would be copied; nil without DryRun.
	ToCopy *mirror.ToCopy `json:"-"`
	// Withheld are the catalogs and releases that name images which are missing at their sources.
	Withheld []plan.Publishable `json:"-"`
	// Repaired is the repair that was written; nil without Repair.
	Repaired *airgap.Repaired `json:"-"`
}

// writesNothing reports whether the destination does not change.
func (o *MirrorOptions) writesNothing() bool { return o.DryRun || o.ResourcesOnly }

func (o *MirrorOptions) toArchive() bool  { return strings.HasPrefix(o.Destination, ArchiveScheme) }
func (o *MirrorOptions) toRegistry() bool { return strings.HasPrefix(o.Destination, RegistryScheme) }

// Mirror copies what the destination does not have. If some content is unavailable, the rest is
// complete and consistent, and Mirror returns the result and a *PartialError. If OnError is
// OnErrorStop, the error is a *mirror.StopError. With every error of the copy itself, it returns the
// result so far, whose Report lists what failed.
func Mirror(ctx context.Context, o MirrorOptions) (done *MirrorResult, failure error) {
	e, closeEnv := o.Env.orDefault()
	defer closeEnv()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Repair != "" {
		return e.repair(ctx, o)
	}
	var selected *Selected
	if o.Config != "" {
		var err error
		if selected, err = o.Selection.loadConfig(e); err != nil {
			return nil, err
		}
	}
	trust, err := e.imagePolicy(o.ImageTrust)
	if err != nil {
		return nil, err
	}
	sign := signWith(o.SigningKey)
	t, err := e.OpenDestination(o.Destination, DestinationOptions{
		RenameCatalogs: o.RenameCatalogs,
		MaxNestedPaths: o.MaxNestedPaths, StrictArchive: o.StrictArchive, VolumeSize: o.VolumeSize, CheckBlobs: o.CheckBlobs, ReadBlobs: o.ReadBlobs, Sign: sign, Encrypt: o.EncryptTo,
	})
	if err != nil {
		return nil, err
	}
	var have *archive.Archive
	if len(o.From) > 0 {
		o.From = slices.Clone(o.From) // folders that the user names are added
		if have, err = o.openArchive(0); err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read from
		e.opened(have)
	}
	o.Workspace = o.workspace()
	s, err := e.OpenSession(o.Workspace)
	if err != nil {
		return nil, err
	}
	defer s.release()
	if err := s.useLayout(&o); err != nil {
		return nil, err
	}
	if to, ok := t.(*archiveDestination); ok && s.UsesLayout() == state.OCMirrorLayout {
		to.opts.OCMirrorNames, to.opts.Replace = true, false // that tool's scripts find all volumes in the folder
	}
	run := s.beginRun(&o, t, have)
	defer func() { run.end(ctx, &o, done, failure) }()
	checked := t
	if o.ResourcesOnly {
		t.Registry().offline = o.again
		checked = nil
	}
	p, err := planned(ctx, checked, !o.DryRun, func(ctx context.Context) (*plan.Plan, error) { return s.planFor(ctx, o, trust, selected, have, t) })
	if err != nil {
		return nil, err
	}
	if r := t.Registry(); r != nil {
		if err := s.nameObjects(r, o.Workspace, p.Name, o.ResourceName, !o.DryRun); err != nil {
			return nil, err
		}
	}
	run.planned(p.Name, o.writesNothing())
	policy := o.manifests()
	if o.ResourcesOnly {
		expected, err := s.admit(ctx, t, p, o.Name, policy)
		if err != nil {
			return nil, err
		}
		return s.resourcesOnly(ctx, &o, t.Registry(), p, expected)
	}
	var imported *airgap.Import
	if have != nil {
		if imported, err = e.checkImport(ctx, &o, s, t, have, p); err != nil {
			return nil, err
		}
		have = imported.Archive // another one, if more folders were named
		if p, err = s.acceptArchived(ctx, trust, p, have, t); err == nil && o.RemoveSignatures && trust != nil {
			p, err = p.WithoutSignatures()
		}
		if err != nil {
			return nil, err
		}
	}
	if to, ok := t.(*archiveDestination); ok {
		if err := e.prepareArchive(ctx, s, to, &o, p); err != nil {
			return nil, err
		}
	}
	j, err := newJob(ctx, o.OnError, p, s, have, t)
	if err != nil {
		return nil, err
	}
	p = j.Plan()
	expected, err := s.admit(ctx, t, p, o.Name, policy)
	if err != nil {
		return nil, err
	}
	result := &MirrorResult{Version: 1, Destination: o.Destination, Plan: p, Verified: s.accepted.summary()}
	if selected != nil && have == nil {
		result.Warnings = ConfigProblems(selected.Config.Warnings)
	}
	if o.DryRun {
		if expected != nil {
			if result.Resources, err = s.previewResources(t.Registry(), expected); err != nil {
				return nil, err
			}
		}
		if result.ToCopy, err = t.Compare(ctx, p); err != nil {
			return nil, err
		}
		if err := s.saveMapping(t, o.Destination, p, result.ToCopy); err != nil {
			return nil, err
		}
		if requested := j.Requested(); len(requested.Missing) > 0 {
			return result, newPlannedError(requested, o.OnError)
		}
		return result, nil
	}
	if o.WithGantry != "" {
		if result.Program, err = addProgram(ctx, o.WithGantry, strings.TrimPrefix(o.Destination, ArchiveScheme)); err != nil {
			return nil, err
		}
	}
	if result.Report, result.Transfer, err = s.copy(ctx, o, j); err != nil {
		return result, err
	}
	p = j.Plan() // OnErrorPackage may have reduced it
	result.Plan, result.Notes, result.Blocked, result.Withheld = p, p.Notes, len(p.Blocked), namesMissing(p)
	result.SmallerIndexes = smallerIndexes(p)
	if r := t.Registry(); r != nil {
		if result.Resources, err = s.saveResources(ctx, r, p, result.Report, policy); err != nil {
			return nil, err
		}
	}
	if to, ok := t.(*archiveDestination); ok {
		result.Archive = to.export.Result()
	}
	if err := s.saveErrors(p, result.Report, time.Now()); err != nil {
		return nil, err
	}
	if have != nil {
		result.Signature = SignatureOf(have)
		if result.Receipt, err = imported.WriteReceipt(ctx, p, result.Report, airgap.ReceiptOptions{File: o.WriteReceipt, Sign: sign}); err != nil {
			return nil, err
		}
	}
	result.Charts, result.Files = mirroredCharts(t, p, result.Report), mirroredFiles(p, result.Report)
	if !result.Report.Complete() {
		partial := newPartialError(result.Report, o.OnError)
		partial.buildsOn = have != nil && len(have.Selected().BuildsOn) > 0
		return result, partial
	}
	return result, nil
}

// signWith returns how archives are signed with a key, or nil for no key.
func signWith(key *sshsig.Key) func(context.Context, io.Reader) ([]byte, error) {
	if key == nil {
		return nil
	}
	return func(ctx context.Context, manifest io.Reader) ([]byte, error) {
		return key.Sign(ctx, archive.SignatureNamespace, manifest)
	}
}

// SignatureOf returns who signed an archive, or nil if it is not signed.
func SignatureOf(have *archive.Archive) *sshsig.Verdict {
	if v := have.Signature(); v.Signed {
		return &v
	}
	return nil
}

// copy runs a job, and keeps the journal of a registry. Before and after, it cancels the uploads
// that a killed run left open, and those that could not be cancelled during the run.
func (s *Session) copy(ctx context.Context, o MirrorOptions, j *job) (*mirror.Report, *Transfer, error) {
	e := s.env
	streams, err := e.Streams()
	if err != nil {
		return nil, nil, err
	}
	opts := mirror.Options{Streams: streams, Fatal: Fatal, StopOnError: o.OnError == OnErrorStop, Log: e.logger()}
	finish := func(bool) error { return nil }
	if r := j.to.Registry(); r != nil {
		if opts.KnownTags, err = s.knownTags(r, j.Plan().Name); err != nil {
			return nil, nil, err
		}
		journal, err := s.Journal(r.Key())
		if err != nil {
			return nil, nil, err
		}
		uploads, err := s.Uploads(r.Key())
		if err != nil {
			return nil, nil, errors.Join(err, journal.Done(false))
		}
		if err := assumePushed(r, j.Plan(), uploads, journal); err != nil {
			return nil, nil, errors.Join(err, journal.Done(false), uploads.Close())
		}
		e.cancelUploads(ctx, r.Client, uploads)
		r.Client.LogSessions(uploads)
		opts.Journal, finish = journal, func(finished bool) error {
			e.cancelUploads(ctx, r.Client, uploads)
			return errors.Join(journal.Done(finished), uploads.Close())
		}
	}
	report, took, err := e.runJob(ctx, j, opts)
	return report, took, errors.Join(err, finish(err == nil && report.Complete()))
}
