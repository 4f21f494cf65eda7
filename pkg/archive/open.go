package archive

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// Inspect is Open for an archive that may be damaged. Volumes may be missing or wrong: Verify
// reports that, and reading their content fails. The set manifest must be intact.
func Inspect(dirs ...string) (*Archive, error) { return InspectWith(OpenOptions{}, dirs...) }

// InspectWith is Inspect with options. It does not call opts.Ask.
func InspectWith(opts OpenOptions, dirs ...string) (*Archive, error) {
	a := &Archive{entryLimit: maxEntries, log: cmp.Or(opts.Log, slog.New(slog.DiscardHandler)), chosen: map[digest.Digest][]piece{}}
	a.builder, a.tempDir = deltareader.New(opts.TempDir), opts.TempDir
	if len(dirs) == 0 {
		return nil, &notFoundError{what: "opening an archive: no folder is named", hint: "name the folder that it lies in"}
	}
	for _, dir := range dirs {
		if err := a.addRoot(dir); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	a.policy, a.identities = opts.Signatures, opts.Identities
	if err := a.load(opts.Sequence); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// OpenOptions are the options of OpenWith. The zero value opens the newest set.
type OpenOptions struct {
	// Sequence selects a set. 0 is the newest.
	Sequence int
	// Ask is called while volumes are missing, with a line for each of them. It returns another
	// folder to search, or "" if there is none. An error ends opening. If Ask is nil, missing
	// volumes are an error at once.
	Ask func(missing []string) (dir string, err error)
	// Signatures is the policy for the signature of the selected set. A set that it does not accept
	// is a *SignatureError. Repairs that it does not accept are skipped. If it is nil, signatures
	// are ignored.
	Signatures *sshsig.Policy
	// Identities decrypt encrypted sets. Without any, an encrypted set can be verified, and reading
	// its content returns an *EncryptedError. If there are some and none opens the selected set,
	// opening returns that error.
	Identities []age.Identity
	// TempDir is the folder for temporary files with the uncompressed content of what deltas are based on. ""
	// is the one of the system.
	TempDir string
	// Log receives what was skipped. Nil discards it.
	Log *slog.Logger
}

// Open opens the newest set in the folders dirs, which may be on several disks. Each of its volumes
// must be in one of them, with the right size and label, unless repairs have all of its content.
// Otherwise the error is a *DamageError. Folders without a set manifest are an error that wraps
// fs.ErrNotExist. Sets of two series, or two sets of one sequence, are a *MixedSetsError that names
// both.
func Open(dirs ...string) (*Archive, error) { return OpenWith(OpenOptions{}, dirs...) }

// OpenWith is Open with options.
func OpenWith(opts OpenOptions, dirs ...string) (*Archive, error) {
	a, err := InspectWith(opts, dirs...)
	if err != nil {
		return nil, err
	}
	for {
		unusable := a.unusableVolumes()
		if len(unusable) == 0 {
			return a, nil
		}
		dir, err := a.askFolder(opts, unusable)
		if err == nil && dir == "" {
			err = &DamageError{Dir: a.dirNames(), Damage: append(unusable, a.manifestDamage...), Rebuild: a.RebuildHint(unusable)}
		}
		if err == nil {
			err = a.addFolder(dir)
		}
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
}

// askFolder asks for missing volumes. dir is "" if opts.Ask is nil or returns none.
func (a *Archive) askFolder(opts OpenOptions, unusable []Damage) (dir string, err error) {
	var missing []string
	for _, d := range unusable {
		if d.Volume != "" {
			missing = append(missing, d.File+" ("+d.Volume+")")
		}
	}
	if opts.Ask == nil || len(missing) == 0 {
		return "", nil
	}
	return opts.Ask(missing)
}

// unusableVolumes returns the damage of the volumes of the newest set. A volume is not needed if all of its content is
// elsewhere too.
func (a *Archive) unusableVolumes() []Damage {
	var unusable []Damage
	m := slices.Index(a.members, a.selected())
	for i := range a.set.Volumes {
		if a.members[m].volumes[i].problem == "" {
			continue
		}
		d := a.volumeProblem(m, i)
		if a.replaceable(m, i) {
			a.addRepaired("a volume is damaged; reading its content from a repair", d.String())
			continue
		}
		unusable = append(unusable, d)
	}
	return unusable
}
