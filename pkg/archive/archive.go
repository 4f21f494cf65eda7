// Package archive stores content in volumes that people carry on disks.
//
// An archive is a set: volumes, which are plain tar files of limited size, and a set manifest. The
// set manifest lists the volume, offset and length of every entry, and digests that together cover
// every byte. All volumes extracted into one folder are an OCI image layout. The format is
// described in docs/archive-format.md.
//
// The sizes of all entries are known beforehand, so the location of every entry is too. A Writer
// accepts content in any order, from several goroutines, and writes each byte once, at its final
// location. It works in a folder beside the final names. The set manifest, which makes the files an
// archive, is renamed last. A Writer that was interrupted is continued by another one, which finds
// what was written. An Archive reads content in place, from the volumes, and compares it with its
// digest: nothing is extracted.
//
// A set may build on earlier sets, whose content it leaves out, and a repair set may replace what
// was damaged in it. An Archive is the newest set together with the sets it builds on and their
// repairs, as far as they are in the folders that it was opened with.
//
// The package knows nothing of catalogs. The plan, which tells the disconnected side what the
// content is for, is opaque.
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

	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// An Archive is a set of volumes, with the sets it builds on, open for reading. It is safe for
// concurrent use.
type Archive struct {
	dirs           []string
	folders        []*os.Root   // in the order of dirs
	labelled       [][]labelled // volumes by their labels, by folder
	set            *set         // the newest
	members        []*member    // the repairs of a set precede it, newer sets precede older ones
	absent         []missingSet // sets that it builds on and that cannot be read
	manifestDamage []Damage     // of set manifests that have intact copies
	blobs          []location   // manifests and blobs, by digest, then in the order of members
	files          []location   // entries with their own path, by digest
	repositories   map[digest.Digest]string
	log            *slog.Logger
	entryLimit     int // entries of all sets together

	policy    *sshsig.Policy // for set manifests; nil if signatures are ignored
	signature sshsig.Verdict // of the set

	identities []age.Identity // that open encrypted sets

	deltas  map[digest.Digest]deltaAt            // by the digests of their blobs
	blobOf  map[digest.Digest]ocispec.Descriptor // by the digests of the delta files
	needed  map[digest.Digest]bool               // the blobs that deltas are based on
	builder *deltareader.Builder                 // makes the blobs of deltas
	tempDir string                               // of builder; "" is the one of the system

	mu     sync.Mutex
	chosen map[digest.Digest][]piece // of content with several copies
	// bases reads what deltas are based on and the archive does not have; may be nil.
	bases    BaseReader
	failures map[digest.Digest]*DeltaError // by the digests of the blobs
	intact   map[*entry]bool               // that were read to their end
	repaired []string                      // damage for which an intact copy was read
}

// A location is an entry and the volume that contains it.
type location struct {
	member, volume int32
	entry          *entry
}

// A missingSet is a set that another builds on and that no folder has, or that cannot be read for a
// cause.
type missingSet struct {
	state.SetRef
	cause error
}

func compareDigests(p, q location) int {
	return strings.Compare(string(p.entry.Digest), string(q.entry.Digest))
}

// locations returns the locations of content, or of its parts, in the order of preference.
func locations(all []location, d digest.Digest) []location {
	i, _ := slices.BinarySearchFunc(all, d, func(p location, d digest.Digest) int {
		return strings.Compare(string(p.entry.Digest), string(d))
	})
	j := i
	for j < len(all) && all[j].entry.Digest == d {
		j++
	}
	return all[i:j]
}

// Digests returns the digests of all manifests and blobs, each once.
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

// volumeProblem returns what is wrong with a volume as a whole.
func (a *Archive) volumeProblem(m, i int) Damage {
	member := a.members[m]
	s, found := member.set, &member.volumes[i]
	d := Damage{File: s.Volumes[i].Name, Problem: found.problem}
	if len(found.files) == 0 && found.problem == problemMissing {
		d.Volume, d.Searched = member.volumePosition(i), a.dirs
	}
	return d
}

// dirNames returns the folders as one text.
func (a *Archive) dirNames() string { return strings.Join(a.dirs, ", ") }

// indexEntries sorts the entries of all members.
func (a *Archive) indexEntries() {
	n := 0
	for _, m := range a.members {
		n += m.set.entries()
	}
	a.blobs, a.files = make([]location, 0, n), nil
	for m, member := range a.members {
		for i, e := range member.set.all() {
			p := location{int32(m), int32(i), e} //nolint:gosec // maxVolumes is far below
			if e.Path != "" {
				a.files = append(a.files, p)
			} else {
				a.blobs = append(a.blobs, p)
			}
		}
	}
	order := func(p, q location) int {
		return cmp.Or(compareDigests(p, q), cmp.Compare(p.member, q.member), cmp.Compare(p.volume, q.volume))
	}
	elements.Sort(a.blobs, order)
	elements.Sort(a.files, order)
	a.indexDeltas()
	a.repositories = make(map[digest.Digest]string, len(a.set.Omitted))
	for _, h := range a.set.Omitted {
		a.repositories[h.Digest] = h.Repository
	}
}

// VolumeSize returns the limit in bytes that the volumes of the newest set were laid out for.
func (a *Archive) VolumeSize() int64 { return a.set.VolumeSize }

// Has reports whether the archive lists the content, or a delta for it. The volumes are not read.
func (a *Archive) Has(desc ocispec.Descriptor) bool {
	if at, ok := a.deltas[desc.Digest]; ok && at.Size == desc.Size {
		return true
	}
	return slices.ContainsFunc(locations(a.blobs, desc.Digest), func(p location) bool { return p.entry.length() == desc.Size })
}

// RepositoryOf returns the repository, by its name in the plan, that an earlier plan put content
// into. It is "" if the newest set does not list it.
func (a *Archive) RepositoryOf(d digest.Digest) (repository string) { return a.repositories[d] }

// Close closes the volumes.
func (a *Archive) Close() error {
	err := closeAll(a.folders)
	for _, m := range a.members {
		err = errors.Join(err, m.close())
	}
	if a.builder != nil {
		err = errors.Join(err, a.builder.Close())
	}
	return err
}

// indexDeltas finds the deltas of all members.
func (a *Archive) indexDeltas() {
	a.deltas, a.blobOf, a.failures = map[digest.Digest]deltaAt{}, map[digest.Digest]ocispec.Descriptor{}, map[digest.Digest]*DeltaError{}
	a.needed = map[digest.Digest]bool{}
	for _, m := range slices.Backward(a.members) { // older sets come first
		for i := range m.set.Deltas {
			d := &m.set.Deltas[i]
			a.blobOf[d.File] = d.Descriptor()
			at := deltaAt{Delta: d, set: m.set}
			if older, ok := a.deltas[d.Digest]; ok {
				at.older = &older
			}
			a.deltas[d.Digest] = at
			for _, b := range d.Bases {
				a.needed[b.Digest] = true
			}
		}
	}
}
