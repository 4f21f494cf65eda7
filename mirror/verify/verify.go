package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/program"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Options says what Run reads. A registry and a layout accept one of Config, Plan and From.
// Without it, the records in the registry say what should be there, or the index of the layout.
type Options struct {
	Env *env.Env
	selection.Selection
	updates.ReleaseTrust
	trust.ImageTrust
	// Locations is docker://HOST[:PORT][/PREFIX], oci://DIR, or the folders of an archive and of
	// the archives that it builds on, each as file://DIR.
	Locations []string
	// Plan is the file of a plan.
	Plan string
	// From are the folders of the archive that the mirror was copied from, each as file://DIR.
	From []string
	// Name is the name of the configuration in the workspace, or of the image set whose record in the
	// registry is verified.
	Name string
	// Workspace is the folder for plans and the cache. The default is env.DefaultWorkspace.
	Workspace string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// Blobs also asks the registry for every blob. ReadBlobs reads every manifest and blob, and
	// compares it with its digest.
	Blobs, ReadBlobs bool
	// Resources is a folder with the cluster resources of a registry, which are verified, too. The default
	// is the one in Workspace, if any.
	Resources string
	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
}

// A Result is the result of a verification. Only the field for the kind of location is set.
type Result struct {
	Registry *VerifiedRegistry
	Archive  *VerifiedArchive
	Layout   *VerifiedLayout
}

// A VerifiedArchive is the result for an archive, as gantry verify --output json prints it.
type VerifiedArchive struct {
	Version int    `json:"version"`
	Archive string `json:"archive"`
	// Signature is who signed it; nil if it is not signed.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	// Bytes is the size of all volumes together.
	Bytes int64 `json:"bytes"`
	*airgap.Assessment
	// Programs are those beside the archive that have the right checksum, or none.
	Programs []program.AddedProgram `json:"programs,omitempty"`
}

// A VerifiedLayout is the result for a layout, as gantry verify --output json prints it.
type VerifiedLayout struct {
	Version int    `json:"version"`
	Layout  string `json:"layout"`
	*mirror.LayoutReport
}

// plans returns how many options name a plan.
func (o *Options) plans() int {
	n := 0
	for _, s := range []string{o.Config, o.Plan, strings.Join(o.From, "")} {
		if s != "" {
			n++
		}
	}
	return n
}

// blobsOption returns the name of the option that is set.
func (o *Options) blobsOption() string {
	if o.ReadBlobs {
		return "Options.ReadBlobs"
	}
	return "Options.Blobs"
}

// Check returns an error if options contradict each other. Run calls it first.
func (o *Options) Check() error {
	if len(o.Locations) == 0 {
		return env.Inputf("nothing to verify")
	}
	where := o.Locations[0]
	for _, other := range o.Locations {
		dir, isArchive := strings.CutPrefix(other, env.ArchiveScheme)
		if len(o.Locations) > 1 && (!isArchive || dir == "") {
			return env.InputHint("write file://DIR for each of its folders, or name one mirror", "only an archive can have several locations, and %q is not a folder of one", redact.Address(other))
		}
	}
	if err := o.ImageTrust.Check(); err != nil {
		return err
	}
	if err := o.checkLocation(where); err != nil || isArchiveDir(where) {
		return err
	}
	switch {
	case o.Name != "" && o.Config == "" && !o.fromRecords():
		return env.InputHint("leave it out", "Options.Name is for a configuration; the plan has a name")
	case o.Any() && o.Config == "":
		return selection.ErrNoSelection()
	}
	_, err := open.Folders("Options.From ", o.From)
	return err
}

// isArchiveDir reports whether a location is the folder of an archive.
func isArchiveDir(where string) bool {
	return strings.HasPrefix(where, env.ArchiveScheme) && len(where) > len(env.ArchiveScheme)
}

// checkLocation returns an error if options contradict what is verified.
func (o *Options) checkLocation(where string) error {
	if !strings.HasPrefix(where, env.RegistryScheme) && o.Applies() {
		return env.InputHint("leave it out here, and set it when the content is mirrored to a registry", "Options.Policy is for docker://")
	}
	if !strings.HasPrefix(where, env.RegistryScheme) && o.Resources != "" {
		return env.InputHint("leave it out", "Options.Resources is for docker://")
	}
	isArchive := strings.HasPrefix(where, env.ArchiveScheme)
	layoutDir, isLayout := strings.CutPrefix(where, env.LayoutScheme)
	switch given := o.plans(); {
	case isArchive && (o.Blobs || o.ReadBlobs):
		return env.InputHint("leave it out: every byte of an archive is read", "%s is for docker://", o.blobsOption())
	case isArchiveDir(where) && given > 0:
		return env.InputHint("set none of Options.Config, Options.Plan and Options.From", "an archive contains its plan")
	case isArchiveDir(where):
	case isLayout && (o.Blobs || o.ReadBlobs):
		return env.InputHint("leave it out: every byte of a layout is read", "%s is for docker://", o.blobsOption())
	case isLayout && layoutDir != "" && given <= 1:
	case !strings.HasPrefix(where, env.RegistryScheme) && !isLayout || isLayout && layoutDir == "":
		return env.InputHint("write file://DIR for an archive, oci://DIR for a layout, docker://HOST[:PORT][/PREFIX] for a mirror", "%q cannot be verified", redact.Address(where))
	case given > 1:
		return env.InputHint("set one of Options.Config, Options.Plan and Options.From", "it is unknown what should be in %s", redact.Address(where))
	}
	return nil
}

// Run reads every byte of an archive or a layout, or asks a registry for every image of a plan.
// For a registry, it also verifies the cluster resources. It changes nothing. If something is damaged or missing, it returns the result and an error of
// kind advice.Mismatch.
func Run(ctx context.Context, o Options) (*Result, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := o.Check(); err != nil {
		return nil, err
	}
	where := o.Locations[0]
	trust, err := trust.ReadPolicy(e, o.ImageTrust)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(where, env.ArchiveScheme) {
		dirs, err := open.Folders("", o.Locations)
		if err != nil {
			return nil, err
		}
		return verifyArchive(ctx, e, o, dirs)
	}
	t, err := site.OpenDestination(e, where, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths, CheckBlobs: o.Blobs, ReadBlobs: o.ReadBlobs})
	if err != nil {
		return nil, err
	}
	if o.fromRecords() {
		return verifyRecords(ctx, e, &o, t.Registry(), trust)
	}
	var p *plan.Plan // nil compares a layout with what it lists
	var from *archive.SetInfo
	if o.plans() > 0 {
		if p, from, err = planToVerify(ctx, e, o, trust, t.Registry()); err != nil {
			return nil, err
		}
	}
	if to, ok := t.(*site.LayoutDestination); ok {
		return verifyLayout(ctx, e, p, to.Dir)
	}
	result, err := verifyRegistry(ctx, e, &o, t.Registry(), trust, p.WithDigestTags())
	if err == nil || result == nil || from == nil {
		return result, err
	}
	if newer := newerImport(e, o.Workspace, t.Registry(), *from); newer > 0 {
		hint := fmt.Sprintf("set Options.From to sequence %d to verify the mirror; mirroring sequence %d again would take the mirror back", newer, from.Sequence)
		err = advice.Wrap(advice.Mismatch, fmt.Errorf("%w: sequence %d was imported after sequence %d", err, newer, from.Sequence), hint)
	}
	return result, err
}

// newerImport returns the sequence of a newer archive that was imported into the mirror, or 0 if the
// workspace knows none.
func newerImport(e *env.Env, folder string, t *site.RegistryDestination, from archive.SetInfo) int {
	dir := env.WorkspaceDir(folder)
	if _, err := os.Stat(dir); err != nil {
		return 0 // and no workspace is created
	}
	s, err := workspace.OpenSession(e, dir)
	if err != nil {
		e.Logger().Info("looking for newer imports", "error", err)
		return 0
	}
	defer s.Release()
	newer, err := airgap.NewerImport(s.Workspace, t.Key(), from)
	if err != nil {
		e.Logger().Info("looking for newer imports", "error", err)
	}
	return newer
}

// planToVerify makes or reads the plan that a mirror or layout is compared with. t is nil for a
// layout. from is the archive of the plan, or nil.
func planToVerify(ctx context.Context, e *env.Env, o Options, trust *trust.SignaturePolicy, t *site.RegistryDestination) (_ *plan.Plan, from *archive.SetInfo, err error) {
	switch {
	case o.Plan != "":
		p, err := signing.ReadPlan(o.Plan)
		return p, nil, err
	case len(o.From) > 0:
		dirs, err := open.Folders("Options.From ", o.From)
		if err != nil {
			return nil, nil, err
		}
		have, err := inspectArchive(o.Read, dirs)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = have.Close() }() // only read from
		env.Opened(e.Observer, have)
		p, err := airgap.ReadPlan(ctx, have)
		if errors.Is(err, os.ErrNotExist) && t != nil {
			p, err = importedPlan(e, o.Workspace, t, have, err)
		}
		selected := have.Selected()
		return p, &selected, err
	}
	if err := selection.CheckName(o.Name); err != nil {
		return nil, nil, err
	}
	selected, err := o.Selection.LoadConfig(e)
	if err != nil {
		return nil, nil, err
	}
	if err := o.ReleaseTrust.Check(); err != nil {
		return nil, nil, err
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, nil, err
	}
	defer s.Release()
	var to site.Destination
	if t != nil {
		to = t
	}
	p, err := site.Planned(ctx, to, false, func(ctx context.Context) (*plan.Plan, error) {
		return planning.MakeFor(ctx, s, to, planning.Options{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Name: o.Name, EveryTag: o.Blobs || o.ReadBlobs}, trust, nil, selected, !o.Any())
	})
	return p, nil, err
}

// inspectArchive opens an archive that may be damaged, and checks its signature according to opts.
func inspectArchive(opts archive.OpenOptions, dirs []string) (*archive.Archive, error) {
	have, err := archive.InspectWith(opts, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	return have, err
}

// importedPlan returns the plan of an archive that omits it, from the workspace that imported an
// archive with it. omitted is the error of an archive that omits its plan.
func importedPlan(e *env.Env, folder string, t *site.RegistryDestination, have *archive.Archive, omitted error) (*plan.Plan, error) {
	dir := env.WorkspaceDir(folder)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return airgap.ImportedPlan(nil, t.Key(), have, omitted) // and no workspace is created
	}
	s, err := workspace.OpenSession(e, dir)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	return airgap.ImportedPlan(s.Workspace, t.Key(), have, omitted)
}

// verifyArchive reads every byte of an archive.
func verifyArchive(ctx context.Context, e *env.Env, o Options, dirs []string) (*Result, error) {
	have, err := inspectArchive(o.Read, dirs)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	damage, err := open.Read(ctx, e, have)
	if err != nil {
		return nil, err
	}
	result := &VerifiedArchive{Version: 1, Archive: env.ArchiveScheme + strings.Join(dirs, ", "+env.ArchiveScheme), Signature: keys.SignatureOf(have), Bytes: have.Size()}
	if result.Assessment, err = airgap.Assess(ctx, have, dirs, damage); err != nil {
		return nil, err
	}
	if result.Programs, err = program.Verify(ctx, dirs, o.Read.Signatures); err != nil && ctx.Err() != nil {
		return nil, err
	}
	if !result.Intact() {
		hint := "copy the damaged files again, or request the lost content with gantry archive repair-request"
		if rebuild := have.RebuildHint(damage); rebuild != "" {
			hint = rebuild
		}
		err = advice.New(advice.Mismatch, hint, "the archive in %s is damaged", strings.Join(dirs, ", "))
	}
	return &Result{Archive: result}, err
}

// verifyLayout reads every blob of a layout and compares it with a plan, or with what it lists if p
// is nil.
func verifyLayout(ctx context.Context, e *env.Env, p *plan.Plan, dir string) (*Result, error) {
	l, err := layout.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	if err != nil {
		return nil, err
	}
	if _, err := l.Index(); err != nil {
		return nil, advice.Wrap(advice.Mismatch, err, "mirror to it again to rewrite it")
	}
	var total, done atomic.Int64
	stop := env.Show(e.Observer, "checking", func() progress.Reading {
		return progress.Reading{Total: total.Load(), Done: done.Load(), Moved: done.Load()}
	})
	state, err := mirror.VerifyLayout(ctx, l, p, 0, func(of, n int64) { total.Store(of); done.Add(n) })
	stop()
	if err != nil {
		return nil, err
	}
	result := &Result{Layout: &VerifiedLayout{Version: 1, Layout: env.LayoutScheme + dir, LayoutReport: state}}
	if !state.Intact() {
		return result, advice.New(advice.Mismatch, "mirror to it again with Options.CheckBlobs to copy what is missing", "the layout in %s is damaged or incomplete", dir)
	}
	return result, nil
}
