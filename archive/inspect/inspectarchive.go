package inspect

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Archive describes an archive: its signature, its volumes, the archives that it builds on, and
// its plan. The content of volumes is not read. A missing volume or an unreadable plan is no error.
func Archive(ctx context.Context, o open.Options) (*Inspection, error) {
	result, _, err := inspectArchive(ctx, o)
	return result, err
}

// inspectArchive is Archive, and returns the plan, too; nil if it cannot be read.
func inspectArchive(ctx context.Context, o open.Options) (*Inspection, *plan.Plan, error) {
	have, err := open.Archive(o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	dirs, err := open.Folders("", o.Folders)
	if err != nil {
		return nil, nil, err
	}
	sequences, err := archive.Sequences(dirs...)
	if err != nil {
		return nil, nil, err
	}
	result := newInspection(have, o.Folders, sequences)
	p, err := airgap.ReadPlan(ctx, have)
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err == nil:
		result.Plan = newInspectedPlan(p, have.PlanDigest())
	case errors.Is(err, fs.ErrNotExist) && airgap.MissingEarlierSets(have) != nil:
		result.PlanProblem = "it is in an earlier archive, which is not in the folders"
	default:
		result.PlanProblem = err.Error()
	}
	if err != nil {
		p = nil
	}
	return result, p, nil
}

// An Inspection describes an archive. Its JSON is what gantry archive inspect --output json prints.
type Inspection struct {
	Version int      `json:"version"`
	Folders []string `json:"folders"` // as the user named them
	// Name is the name of the series, which is the name of the plans.
	Name      string          `json:"name"`
	Sequence  int             `json:"sequence"`
	Set       digest.Digest   `json:"set"`                 // of its set manifest
	Signature *sshsig.Verdict `json:"signature,omitempty"` // nil without a signature
	// Sets are repairs of the archive, the archive itself, and the archives that it builds on.
	Sets []InspectedSet `json:"sets"`
	// Others are the sequence numbers of unrelated archives in the folders.
	Others []int `json:"others,omitempty"`
	// Missing is the number of volumes that are missing or unusable. Archives that are not in the
	// folders do not count.
	Missing int `json:"missing"`
	// Plan summarizes the plan. It is nil if the plan cannot be read; PlanProblem is the reason.
	Plan        *InspectedPlan `json:"plan,omitempty"`
	PlanProblem string         `json:"planProblem,omitempty"`
}

// An InspectedSet is one archive of a series, or a repair.
type InspectedSet struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set"`
	Repair   bool          `json:"repair,omitempty"`
	Manifest string        `json:"manifest"`
	Folder   string        `json:"folder,omitempty"` // empty if it is not in the folders
	// Recovered is "copy" or "headers" if the set manifest is missing and was read from the copy of it in a
	// volume, or made from the headers of the volumes.
	Recovered  string          `json:"recovered,omitempty"`
	Parent     digest.Digest   `json:"parent,omitempty"`
	Plan       digest.Digest   `json:"plan,omitempty"`
	VolumeSize int64           `json:"volumeSize,omitempty"`
	Features   []string        `json:"features,omitempty"`
	BuildsOn   []InspectedBase `json:"buildsOn,omitempty"`
	Content    int             `json:"content"`             // manifests and blobs
	Bytes      int64           `json:"bytes"`               // of them
	Omitted    int             `json:"elsewhere,omitempty"` // manifests and blobs that earlier archives have
	// Deltas are the blobs among Content that are carried as deltas, DeltaBytes the size of the deltas, and
	// RebuiltBytes the size of the blobs.
	Deltas       int               `json:"deltas,omitempty"`
	DeltaBytes   int64             `json:"deltaBytes,omitempty"`
	RebuiltBytes int64             `json:"rebuiltBytes,omitempty"`
	Encrypted    bool              `json:"encrypted,omitempty"`
	Locked       bool              `json:"locked,omitempty"` // no identity decrypts it
	Volumes      []InspectedVolume `json:"volumes,omitempty"`
	// OmittedBytes is the size of Omitted.
	OmittedBytes int64 `json:"-"`
}

// An InspectedBase is an archive that another builds on.
type InspectedBase struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set"`
}

// An InspectedVolume is a file of an archive. Problem is empty if it is usable.
type InspectedVolume struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// An InspectedPlan summarizes a plan.
type InspectedPlan struct {
	Digest   digest.Digest          `json:"digest"`
	Totals   plan.Totals            `json:"totals"`
	Images   map[plan.ImageKind]int `json:"images"`
	Catalogs []InspectedCatalog     `json:"catalogs"`
	Releases []InspectedRelease     `json:"releases,omitempty"`
	Missing  int                    `json:"missing,omitempty"` // images that were missing at the source
	Blocked  int                    `json:"blocked,omitempty"`
	Notes    []string               `json:"notes,omitempty"`
}

// An InspectedCatalog is a catalog of a plan, with the image that it becomes.
type InspectedCatalog struct {
	Name     string   `json:"name"`
	Image    string   `json:"image"`
	Packages []string `json:"packages"`
}

// An InspectedRelease is a platform release of a plan.
type InspectedRelease struct {
	Name       string        `json:"name"`
	Image      string        `json:"image"`
	Digest     digest.Digest `json:"digest"`
	Unverified bool          `json:"unverified,omitempty"`
}

// newInspection describes an opened archive. others are the sequence numbers of all archives in the
// folders.
func newInspection(have *archive.Archive, folders []string, others []int) *Inspection {
	selected := have.Selected()
	r := &Inspection{Version: 1, Folders: folders, Name: selected.Series, Sequence: selected.Sequence, Set: selected.Set}
	if v := have.Signature(); v.Signed {
		r.Signature = &v
	}
	for _, s := range have.Sets() {
		r.add(s)
	}
	for _, sequence := range others {
		if !slices.ContainsFunc(r.Sets, func(s InspectedSet) bool { return s.Sequence == sequence }) {
			r.Others = append(r.Others, sequence)
		}
	}
	return r
}

func (r *Inspection) add(s archive.SetInfo) {
	set := InspectedSet{
		Sequence: s.Sequence, Set: s.Set, Repair: s.Repair, Manifest: s.Manifest, Folder: s.Dir, Recovered: s.Recovered, Parent: s.Parent, Plan: s.Plan,
		VolumeSize: s.VolumeSize, Features: s.Features, Content: s.Content, Bytes: s.ContentBytes,
		Encrypted: s.Encrypted, Locked: s.NeedsIdentity,
		Omitted: s.Omitted, OmittedBytes: s.OmittedBytes, Deltas: s.Deltas, DeltaBytes: s.DeltaBytes, RebuiltBytes: s.RebuiltBytes,
	}
	for _, b := range s.BuildsOn {
		set.BuildsOn = append(set.BuildsOn, InspectedBase(b))
	}
	for _, v := range s.Volumes {
		set.Volumes = append(set.Volumes, InspectedVolume(v))
		if v.Problem != "" {
			r.Missing++
		}
	}
	r.Sets = append(r.Sets, set)
}

// newInspectedPlan summarizes the plan with a digest.
func newInspectedPlan(p *plan.Plan, d digest.Digest) *InspectedPlan {
	in := &InspectedPlan{
		Digest: d, Totals: p.Totals, Images: map[plan.ImageKind]int{}, Catalogs: []InspectedCatalog{},
		Missing: len(p.Missing), Blocked: len(p.Blocked), Notes: p.Notes,
	}
	for i := range p.Images {
		in.Images[p.Images[i].Kind]++
	}
	for _, c := range p.Catalogs {
		x := InspectedCatalog{Name: c.Name(), Image: c.Repository + ":" + c.Tag, Packages: []string{}}
		for _, pkg := range c.Packages {
			x.Packages = append(x.Packages, pkg.Name)
		}
		in.Catalogs = append(in.Catalogs, x)
	}
	for _, r := range p.Releases {
		in.Releases = append(in.Releases, InspectedRelease{r.Name(), r.Repository + ":" + r.Tag, r.Digest, r.Unverified})
	}
	return in
}
