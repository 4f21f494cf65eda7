package archive

import (
	"iter"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A SetInfo describes one of the sets of an Archive.
type SetInfo struct {
	state.SetRef
	Series string // the name of its plans
	Repair bool   // it repairs the set of its sequence
	// Manifest is the name of the set manifest. Dir is the folder that has it, as it was given. It
	// is empty for a set that is built on and not present.
	Manifest, Dir string
	// Recovered is how the set manifest was found if it is in no folder: RecoveredCopy or
	// RecoveredHeaders. Dir then has a volume.
	Recovered string
	// Problem is why a set without Dir is not read: "missing", or what is wrong with its set
	// manifest.
	Problem string
	Parent  digest.Digest // of the set manifest that was the newest before, or ""
	// Plan and Series are empty if NeedsIdentity is set.
	Plan          digest.Digest
	VolumeSize    int64 // the limit in bytes that volumes were laid out for
	Features      []string
	Encrypted     bool
	NeedsIdentity bool           // it is encrypted and was not opened: it can be verified and no more
	BuildsOn      []state.SetRef // by sequence
	// Omitted is how much content is left out that images of this set need, and OmittedBytes its
	// size.
	Omitted      int
	OmittedBytes int64
	// Content and ContentBytes are the manifests and blobs. Parts are counted once.
	Content      int
	ContentBytes int64
	// Deltas are the blobs that the set carries as deltas, which are among Content. DeltaBytes is the size
	// of the deltas, and RebuiltBytes the size of the blobs that are made from them.
	Deltas                   int
	DeltaBytes, RebuiltBytes int64
	Volumes                  []VolumeInfo
}

// Compact reports whether the set carries blobs that are based on others of the same set.
func (s *SetInfo) Compact() bool { return slices.Contains(s.Features, featureCompact) }

// A VolumeInfo describes a volume.
type VolumeInfo struct {
	Name string
	Size int64 // bytes
	// Path is the file that was found for it, whatever its name. It is empty if there is none.
	Path string
	// Problem is what is wrong with the file as a whole, as far as opening it shows: "missing" if
	// there is none, "" if nothing is wrong.
	Problem string
}

// Missing reports whether no file was found for the volume.
func (v *VolumeInfo) Missing() bool { return v.Problem == problemMissing }

// Sets returns the repairs of the newest set, the newest set, and then the sets that it builds on,
// newest first, each after its repairs. Sets that are in no folder or cannot be read come last. Of
// these, only sequence, digest, name and problem are known.
func (a *Archive) Sets() []SetInfo {
	all := elements.Map(a.members, a.info)
	for _, b := range a.absent {
		info := SetInfo{SetRef: b.SetRef, Series: a.set.Name, Manifest: setName(b.Sequence), Problem: problemMissing}
		if b.cause != nil {
			info.Problem = b.cause.Error()
		}
		all = append(all, info)
	}
	return all
}

// Selected returns the set that was opened: the newest, or the one that OpenOptions.Sequence
// selected.
func (a *Archive) Selected() SetInfo { return a.info(a.selected()) }

// selected returns the member that was opened.
func (a *Archive) selected() *member {
	for _, m := range a.members {
		if m.set == a.set {
			return m
		}
	}
	return nil // cannot be
}

func (a *Archive) info(m *member) SetInfo {
	s := m.set
	info := SetInfo{
		SetRef: state.SetRef{Sequence: s.Sequence, Set: m.digest}, Series: s.Name, Repair: s.Repairs != nil,
		Manifest: m.name, Dir: a.dirs[m.dir], Parent: s.Parent, Plan: s.Plan, VolumeSize: s.VolumeSize,
		Features: s.Features, Omitted: len(s.Omitted),
		Encrypted: m.outer.Encryption != nil, NeedsIdentity: m.needsIdentity(),
	}
	if info.Encrypted && !info.NeedsIdentity {
		info.Features = slices.Sorted(slices.Values(append([]string{featureEncrypted}, s.Features...)))
	}
	if m.recovery != nil {
		info.Recovered = m.recovery.kind
	}
	info.BuildsOn = append(info.BuildsOn, s.BuildsOn...)
	for _, h := range s.Omitted {
		info.OmittedBytes += h.Size
	}
	info.Deltas = len(s.Deltas)
	files := make(map[digest.Digest]bool, len(s.Deltas))
	for i := range s.Deltas {
		files[s.Deltas[i].File] = true
		info.RebuiltBytes += s.Deltas[i].Size
	}
	for i := range s.Volumes {
		v, found := &s.Volumes[i], &m.volumes[i]
		volume := VolumeInfo{Name: v.Name, Size: v.Size, Problem: found.problem}
		if len(found.files) > 0 {
			volume.Path = a.filePath(&found.files[0])
		}
		info.Volumes = append(info.Volumes, volume)
	}
	for _, e := range s.all() {
		if e.isFirst() {
			info.Content++
			info.ContentBytes += e.length()
			if files[e.Digest] {
				info.DeltaBytes += e.length()
			}
		}
	}
	return info
}

// filePath returns the path of a file.
func (a *Archive) filePath(f *file) string { return filepath.Join(a.dirs[f.dir], f.name) }

// An EntryInfo describes a file in a volume.
type EntryInfo struct {
	Set        state.SetRef
	Repair     bool
	Volume     string // its name
	Path       string // in the volume, decrypted
	StoredPath string // in the volume
	IsContent  bool   // it is a manifest, a blob or a part of one
	MediaType  string // of a manifest; "" for other content
	Digest     digest.Digest
	Offset     int64 // of its bytes, in the volume
	Size       int64 // of its bytes
	// For a part: its number, from 1, the number of parts, its offset in the content, and the size
	// of the whole content.
	Part, Parts                int
	ContentOffset, ContentSize int64
}

// Entries iterates over the files in the volumes of all sets, in the order of Sets and then of the
// volumes.
func (a *Archive) Entries() iter.Seq[EntryInfo] {
	return func(yield func(EntryInfo) bool) {
		for _, m := range a.members {
			for i, e := range m.set.all() {
				info := EntryInfo{
					Set: state.SetRef{Sequence: m.set.Sequence, Set: m.digest}, Repair: m.set.Repairs != nil, Volume: m.set.Volumes[i].Name,
					Path: e.path(), StoredPath: e.stored().path(), IsContent: e.Path == "", MediaType: e.MediaType,
					Digest: e.Digest, Offset: e.Offset, Size: e.Size, ContentSize: e.length(),
				}
				if e.Part != nil {
					info.Part, info.Parts, info.ContentOffset = e.Part.Number, e.Part.Parts, e.Part.At
				}
				if !yield(info) {
					return
				}
			}
		}
	}
}
