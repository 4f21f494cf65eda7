// Package archive keeps content in volumes that are carried by hand.
//
// An archive is a set: volumes, which are plain tar files of limited size, and
// a set manifest, which says what is in them: the volume, offset and length of
// every entry, and digests that together cover every byte. All volumes
// extracted into one folder are an OCI image layout. The format is written down
// in docs/archive-format.md.
//
// Since the sizes of all entries are known beforehand, the place of every entry
// is too. A Writer takes content in any order, from several goroutines, and
// writes each byte once, where it belongs. It works in a folder beside the
// final names; the set manifest, which makes the files an archive, comes last.
// A Writer that was interrupted is followed by another that finds what is
// there. An Archive reads content in place, out of the volumes, and compares it
// with its digest: nothing is extracted.
//
// A set may build on earlier sets, whose content it leaves out, and may be
// followed by a repair set, which has what was damaged of it. An Archive is the
// newest set together with those that it builds on and with their repairs, as
// far as they lie in the folders that it was opened with.
//
// The package knows nothing of catalogs. The plan, which tells the far side
// what the content is for, is bytes to it.
package archive

import (
	"cmp"
	"errors"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// An Archive is a set of volumes, and what it builds on, open for reading. It is
// safe for concurrent use.
type Archive struct {
	dirs    []string
	folders []*os.Root // in the order of dirs
	set     *set       // the newest
	members []*member  // the repairs of a set stand before it, newer sets before older
	absent  []absence  // what is built on and cannot be read
	spoilt  []Damage   // of set manifests that others stand in for
	blobs   []place    // manifests and blobs, by digest, then in the order of members
	files   []place    // what has a path of its own, by digest
	where   map[digest.Digest]string
	log     *slog.Logger
	most    int // entries of all sets together

	policy    *sshsig.Policy // for set manifests; nil where signatures are not looked at
	signature sshsig.Verdict // of the set

	identities []age.Identity // that open encrypted sets

	mu     sync.Mutex
	chosen map[digest.Digest][]piece // of content that is there more than once
}

// A place is an entry and the volume it lies in.
type place struct {
	member, volume int32
	entry          *entry
}

// An absence is a set that another builds on and that no folder has, or that cannot
// be read, and then why.
type absence struct {
	base
	why error
}

func byDigest(p, q place) int { return strings.Compare(string(p.entry.Digest), string(q.entry.Digest)) }

// places are those of content, or of the parts of it, in the order of preference.
func places(all []place, d digest.Digest) []place {
	i, _ := slices.BinarySearchFunc(all, d, func(p place, d digest.Digest) int {
		return strings.Compare(string(p.entry.Digest), string(d))
	})
	j := i
	for j < len(all) && all[j].entry.Digest == d {
		j++
	}
	return all[i:j]
}

// Digests are those of all manifests and blobs, each once.
func (a *Archive) Digests() iter.Seq[digest.Digest] {
	return func(yield func(digest.Digest) bool) {
		for i, p := range a.blobs {
			if i > 0 && a.blobs[i-1].entry.Digest == p.entry.Digest {
				continue
			}
			if !yield(p.entry.Digest) {
				return
			}
		}
	}
}

// OpenOptions say how an archive is opened. The zero value is the newest set.
type OpenOptions struct {
	// Sequence chooses a set; 0 is the newest.
	Sequence int
	// Needs reports whether the content of a set that the newest builds on is read
	// too: then its volumes have to be there like those of the newest. Nil is never.
	Needs func(sequence int, set digest.Digest) bool
	// Ask is called while volumes are missing, with a line for each of them, and
	// returns another folder to look into, or "" where there is none. An error ends
	// opening. Nil does not ask.
	Ask func(missing []string) (dir string, err error)
	// Signatures says which signatures of the chosen set are taken; what is not is a
	// *SignatureError. Repairs whose signature is not taken are passed over. Nil does
	// not look at signatures.
	Signatures *sshsig.Policy
	// Identities open sets that are encrypted. Where there are none, such a set can be
	// verified, and whoever wants content of it meets a *LockedError; where there are
	// some and none of them opens the chosen set, that is the error of opening.
	Identities []age.Identity
	// Log is told what was passed over. Nil discards.
	Log *slog.Logger
}

// Open opens the newest set in the folders dirs, which may be those of several
// media. Each of its volumes has to be in one of them, in its length, and to
// begin as that volume does, unless repairs have all that it holds; what is not so
// is a *DamageError. Folders without a set manifest are an error that wraps
// fs.ErrNotExist. Sets of two series, or two sets of one sequence, are a
// *MixedError that names both.
func Open(dirs ...string) (*Archive, error) { return OpenWith(OpenOptions{}, dirs...) }

// OpenWith is Open with options.
func OpenWith(opts OpenOptions, dirs ...string) (*Archive, error) {
	a, err := InspectWith(opts, dirs...)
	if err != nil {
		return nil, err
	}
	for {
		lacking := a.lacking(opts.Needs)
		if len(lacking) == 0 {
			return a, nil
		}
		dir, err := a.ask(opts, lacking)
		if err == nil && dir == "" {
			err = &DamageError{Dir: a.dir(), Damage: append(lacking, a.spoilt...)}
		}
		if err == nil {
			err = a.addFolder(dir)
		}
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
}

// ask asks for missing volumes. dir is "" where nobody is asked, or has one.
func (a *Archive) ask(opts OpenOptions, lacking []Damage) (dir string, err error) {
	var missing []string
	for _, d := range lacking {
		if d.Which != "" {
			missing = append(missing, d.File+" ("+d.Which+")")
		}
	}
	if opts.Ask == nil || len(missing) == 0 {
		return "", nil
	}
	return opts.Ask(missing)
}

// lacking is what is wrong with the volumes whose content is needed: those of the
// newest set, and of others that needs reports. A volume is not needed where all
// that it holds is elsewhere too.
func (a *Archive) lacking(needs func(int, digest.Digest) bool) []Damage {
	var lacking []Damage
	for m, member := range a.members {
		s := member.set
		if s != a.set && (s.Repairs != nil || needs == nil || !needs(s.Sequence, member.digest)) {
			continue
		}
		for i := range s.Volumes {
			if member.media[i].problem == "" {
				continue
			}
			d := a.damage(m, i)
			if a.replaceable(m, i) {
				a.log.Warn("a volume is not as it was written; what it holds is read from a repair", "problem", d.String())
				continue
			}
			lacking = append(lacking, d)
		}
	}
	return lacking
}

// damage is what is wrong with a volume as a whole.
func (a *Archive) damage(m, i int) Damage {
	member := a.members[m]
	s, medium := member.set, &member.media[i]
	d := Damage{File: s.Volumes[i].Name, Problem: medium.problem}
	if len(medium.files) == 0 && medium.problem == missing {
		d.Which, d.Sought = member.which(i), a.dirs
	}
	return d
}

// replaceable reports whether all that an unfit volume holds is in a fit one too.
func (a *Archive) replaceable(m, i int) bool {
	if a.members[m].locked() {
		return false
	}
	for j := range a.members[m].set.Volumes[i].Entries {
		e := &a.members[m].set.Volumes[i].Entries[j]
		if e.Path != "" && e.Path != planPath {
			continue // nothing is read from it
		}
		if !a.holds(a.members[m].set, e, piece.fit) {
			return false
		}
	}
	return true
}

// holds reports whether the pieces that take accepts have what an entry of s brings:
// content, or the plan.
func (a *Archive) holds(s *set, e *entry, take func(piece) bool) bool {
	copies := [][]place{places(a.blobs, e.Digest)}
	if e.Path != "" {
		copies = a.plans(s.Plan)
	}
	return slices.ContainsFunc(copies, func(have []place) bool {
		return len(have) > 0 && covered(a.pieces(have, take), have[0].entry.length())
	})
}

// dir names the folders.
func (a *Archive) dir() string { return strings.Join(a.dirs, ", ") }

// index sorts what the members hold.
func (a *Archive) index() {
	n := 0
	for _, m := range a.members {
		for i := range m.set.Volumes {
			n += len(m.set.Volumes[i].Entries)
		}
	}
	a.blobs, a.files = make([]place, 0, n), nil
	for m, member := range a.members {
		for i := range member.set.Volumes {
			entries := member.set.Volumes[i].Entries
			for j := range entries {
				p := place{int32(m), int32(i), &entries[j]}
				if p.entry.Path != "" {
					a.files = append(a.files, p)
				} else {
					a.blobs = append(a.blobs, p)
				}
			}
		}
	}
	order := func(p, q place) int {
		return cmp.Or(byDigest(p, q), cmp.Compare(p.member, q.member), cmp.Compare(p.volume, q.volume))
	}
	slices.SortFunc(a.blobs, order)
	slices.SortFunc(a.files, order)
	a.where = make(map[digest.Digest]string, len(a.set.Elsewhere))
	for _, h := range a.set.Elsewhere {
		a.where[h.Digest] = h.Repository
	}
}

// VolumeSize is the limit in bytes that the volumes of the newest set were laid
// out for.
func (a *Archive) VolumeSize() int64 { return a.set.VolumeSize }

// Has reports whether the archive has the content. What its volume holds is
// not looked at.
func (a *Archive) Has(desc ocispec.Descriptor) bool {
	for _, p := range places(a.blobs, desc.Digest) {
		if p.entry.length() == desc.Size {
			return true
		}
	}
	return false
}

// Where returns the repository, by its name in the plan, in which content was put
// by an earlier plan; "" for content that the newest set does not say that of.
func (a *Archive) Where(d digest.Digest) (repository string) { return a.where[d] }

// Lacks says why content cannot be read, as far as that is known without reading
// it: a *DamageError where the set that has it lacks volumes, an error that wraps
// fs.ErrNotExist where no set that is here has it. It is nil for content that is
// there.
func (a *Archive) Lacks(desc ocispec.Descriptor) error {
	have := places(a.blobs, desc.Digest)
	if len(have) == 0 || have[0].entry.length() != desc.Size {
		return a.lacks(desc)
	}
	if covered(a.pieces(have, piece.fit), desc.Size) {
		return nil
	}
	return a.unfit(have)
}

// Close closes the volumes.
func (a *Archive) Close() error {
	var errs []error
	for _, m := range a.members {
		errs = append(errs, m.close())
	}
	for _, root := range a.folders {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}
