package archive

import (
	"iter"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
)

// A SetInfo is what is known of one of the sets that an Archive consists of.
type SetInfo struct {
	BaseSet
	Series string // the name of its plans
	Repair bool   // it mends the set of its sequence
	// Manifest is the name of its set manifest, and Dir the folder that has it, as
	// that was given; Dir is "" for a set that is built on and not there.
	Manifest, Dir string
	// Problem is why a set whose Dir is "" is not read: "missing", or what is wrong
	// with its set manifest.
	Problem string
	Parent  digest.Digest // of the set manifest that was the newest before, or ""
	// Plan is "" and Series too for a set that is Locked.
	Plan       digest.Digest
	VolumeSize int64 // the limit in bytes that volumes were laid out for
	Features   []string
	Encrypted  bool
	Locked     bool      // it is encrypted and was not opened: it can be verified and no more
	BuildsOn   []BaseSet // by sequence
	// Elsewhere is how much content was left out that images of this set need.
	Elsewhere      int
	ElsewhereBytes int64
	// Content and ContentBytes are the manifests and blobs, parts counted once.
	Content      int
	ContentBytes int64
	Volumes      []VolumeInfo
}

// A VolumeInfo is what is known of a volume.
type VolumeInfo struct {
	Name string
	Size int64 // bytes
	// Path is the file that was found for it, whatever it is called; "" where there
	// is none.
	Path string
	// Problem is what is wrong with the file as a whole, as far as opening it tells;
	// "missing" where there is none, "" where nothing is.
	Problem string
}

// Sets are the newest set first, before it its repairs, and then those that it
// builds on, newest first; those that are in no folder, or cannot be read, come last
// and have nothing but sequence, digest, name and problem.
func (a *Archive) Sets() []SetInfo {
	var all []SetInfo
	for _, m := range a.members {
		all = append(all, a.info(m))
	}
	for _, b := range a.absent {
		info := SetInfo{BaseSet: BaseSet(b.base), Series: a.set.Name, Manifest: setName(b.Sequence), Problem: missing}
		if b.why != nil {
			info.Problem = b.why.Error()
		}
		all = append(all, info)
	}
	return all
}

// Newest is the set that was opened: the newest, or the one that was chosen.
func (a *Archive) Newest() SetInfo { return a.info(a.newest()) }

// newest is the member whose plan the archive has.
func (a *Archive) newest() *member {
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
		BaseSet: BaseSet{s.Sequence, m.digest}, Series: s.Name, Repair: s.Repairs != nil,
		Manifest: m.name, Dir: a.dirs[m.dir], Parent: s.Parent, Plan: s.Plan, VolumeSize: s.VolumeSize,
		Features: s.Features, Elsewhere: len(s.Elsewhere),
		Encrypted: m.outer.Encryption != nil, Locked: m.locked(),
	}
	if info.Encrypted && !info.Locked {
		info.Features = slices.Sorted(slices.Values(append([]string{featureEncrypted}, s.Features...)))
	}
	for _, b := range s.BuildsOn {
		info.BuildsOn = append(info.BuildsOn, BaseSet(b))
	}
	for _, h := range s.Elsewhere {
		info.ElsewhereBytes += h.Size
	}
	for i := range s.Volumes {
		v, found := &s.Volumes[i], &m.media[i]
		volume := VolumeInfo{Name: v.Name, Size: v.Size, Problem: found.problem}
		if len(found.files) > 0 {
			volume.Path = a.path(&found.files[0])
		}
		info.Volumes = append(info.Volumes, volume)
		for j := range v.Entries {
			if e := &v.Entries[j]; e.leads() {
				info.Content++
				info.ContentBytes += e.length()
			}
		}
	}
	return info
}

// path is where a file lies.
func (a *Archive) path(f *file) string { return filepath.Join(a.dirs[f.dir], f.name) }

// An EntryInfo is a file in a volume.
type EntryInfo struct {
	Set       BaseSet
	Repair    bool
	Volume    string // its name
	Path      string // in the volume, decrypted
	File      string // in the volume as it stands there
	Content   bool   // it is a manifest, a blob or a part of one
	MediaType string // of a manifest; "" for all else
	Digest    digest.Digest
	Offset    int64 // of its bytes, in the volume
	Size      int64 // of its bytes
	// Of a part: its number, from 1 on, how many there are, where it begins in the
	// content and how long the whole of that is.
	Part, Parts int
	At, Whole   int64
}

// Entries are the files in the volumes of all sets, in the order of Sets and in
// that of the volumes.
func (a *Archive) Entries() iter.Seq[EntryInfo] {
	return func(yield func(EntryInfo) bool) {
		for _, m := range a.members {
			for i := range m.set.Volumes {
				v := &m.set.Volumes[i]
				for j := range v.Entries {
					e := &v.Entries[j]
					info := EntryInfo{
						Set: BaseSet{m.set.Sequence, m.digest}, Repair: m.set.Repairs != nil, Volume: v.Name,
						Path: e.path(), File: e.file().path(), Content: e.Path == "", MediaType: e.MediaType,
						Digest: e.Digest, Offset: e.Offset, Size: e.Size, Whole: e.length(),
					}
					if e.Part != nil {
						info.Part, info.Parts, info.At = e.Part.Number, e.Part.Parts, e.Part.At
					}
					if !yield(info) {
						return
					}
				}
			}
		}
	}
}
