package mirroring

import (
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/program"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state/shard"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// A Result is what a run did. Its JSON is what gantry mirror --output json prints.
type Result struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	// NoError means that the run itself had no error, whether or not the files about it could be written.
	NoError bool `json:"-"`
	// PlanDigest is the digest of the plan: of the file of Options.Plan, or of the plan that was made or read
	// from the archive, before anything that turned out to be unavailable was removed.
	PlanDigest digest.Digest `json:"planDigest,omitempty"`
	// PlanSignature is the one of the plan in Options.Plan; nil if it is not signed.
	PlanSignature *sshsig.Verdict `json:"planSignature,omitempty"`
	// Signature is the one of the archive that was read; nil if it is not signed.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	// ArchiveRead is how much of that archive was read: damage in the rest is not noticed. It is nil without From.
	ArchiveRead *archive.Reading `json:"archiveRead,omitempty"`
	Report      *mirror.Report   `json:"report"`
	// Verified is what the signature policy found; nil if none was applied.
	Verified *trust.VerifiedSignatures `json:"verifiedSignatures,omitempty"`
	// UnsignedImages is how many images of the plan have no signature, whatever a policy requires
	// (plan.Plan.Unsigned).
	UnsignedImages int `json:"unsignedImages"`
	// MissingBefore is what RepairMissing found before it copied; nil without it.
	MissingBefore []mirror.MissingImage `json:"missingBefore,omitempty"`
	// Gate is what the gate decided about images; nil without one.
	Gate *gates.GateResult `json:"gate,omitempty"`
	// Notes are those of the plan. Blocked is how many images mirror.blockedImages removed from it.
	Notes   []string `json:"notes,omitempty"`
	Blocked int      `json:"blocked,omitempty"`
	// NotesKnown reports that the last run to the destination had the same plan, so that its notes are not new.
	NotesKnown bool `json:"notesKnown,omitempty"`
	// SmallerIndexes are the images whose index was rewritten, or was requested to be.
	SmallerIndexes []planning.SmallerIndex `json:"smallerIndexes,omitempty"`
	// Converted are the images that were converted to other media types.
	Converted []planning.ConvertedImage `json:"converted,omitempty"`
	Resources *cluster.ResourceFiles    `json:"resources,omitempty"`
	// ImageSet is what was recorded in the mirror; nil for other destinations.
	ImageSet *site.ImageSetRecord `json:"imageSet,omitempty"`
	Transfer *copying.Transfer    `json:"transfer,omitempty"`
	// Shard is the result of the shard that was copied, as it is in the mirror; nil for a whole plan.
	Shard *shard.Result `json:"shard,omitempty"`
	// Archive is the archive that was written; nil for other destinations.
	Archive *airgap.ExportResult `json:"archive,omitempty"`
	// Pruned is what Prune deleted; nil without it, and if the run is not complete.
	Pruned *removal.PruneResult `json:"pruned,omitempty"`
	// Receipt is the file that lists what the mirror has of the archive that was read, or "".
	Receipt string `json:"receipt,omitempty"`
	// RepairRequest is the file that requests the blobs that could not be rebuilt from deltas, or "".
	RepairRequest string `json:"repairRequest,omitempty"`
	// Replaced are the catalogs that replace others at the destination.
	Replaced []admission.ReplacedCatalog `json:"replaced,omitempty"`
	// Warnings are those about the configuration.
	Warnings []selection.ConfigProblem `json:"warnings,omitempty"`
	// Charts are the Helm charts at the destination. Of an archive, they are installed when it is mirrored to a
	// registry.
	Charts []MirroredChart `json:"charts,omitempty"`
	// Files are the files at the destination.
	Files []site.MirroredFile `json:"files,omitempty"`
	// Program is the program beside the archive; nil without WithGantry.
	Program *program.AddedProgram `json:"program,omitempty"`

	// Plan is what was copied.
	Plan *plan.Plan `json:"-"`
	// ToCopy is what would be copied, and site.PlannedDeltas what an archive would compare with what the site has;
	// nil without DryRun.
	ToCopy        *mirror.ToCopy      `json:"-"`
	PlannedDeltas *site.PlannedDeltas `json:"-"`
	// Withheld are the catalogs and releases that name images which are missing at their sources.
	Withheld []plan.Publishable `json:"-"`
	// Repaired is the repair that was written; nil without Repair.
	Repaired *airgap.Repaired `json:"-"`

	// For Options.Page: the plan before, and the update graphs by catalog and package; nil if they are unknown.
	before *plan.Outline
	graphs map[string]map[string]diagram.Drawing
}

// sayRead says how much of an archive an import read and compared with its digests. What it did not need may be damaged, and
// the next import or a rebuild may need it.
func sayRead(e *env.Env, have *archive.Archive) *archive.Reading {
	r := have.Reading()
	rest := progress.Bytes(r.Size - r.Read)
	if r.ParityFiles > 0 {
		rest += " and " + env.Number(r.ParityFiles, "parity file", "parity files")
	}
	if n := len(r.Repaired); n > 0 {
		e.Warnf("%s in the archive, for which intact copies were read: keep these, or run gantry verify and copy the damaged files again", env.Number(n, "place is damaged", "places are damaged"))
	}
	e.Noticef("%s of the archive were read and are intact; the rest, %s, was not needed and not checked: gantry verify checks it", progress.Bytes(r.Read), rest)
	return &r
}
