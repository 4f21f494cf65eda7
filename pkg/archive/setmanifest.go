package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// format is the version of the format that this package writes and reads.
const format = 1

// The features that this package knows. A set lists those that it uses.
const (
	featureBuildsOn  = "builds-on" // content of earlier sets is left out
	featureCompact   = "compact"   // deltas are of CompactFormat
	featureDeltas    = "deltas"    // blobs are carried as differences to other blobs
	featureEncrypted = "encrypted" // the files of volumes are encrypted, and so is the list of their content
	featureRepair    = "repair"    // the set only repairs another
	featureSplit     = "split"     // content is in parts, in several volumes
	// featureNames means that volumes have the names that oc mirror gives.
	featureNames = "volume-names"
)

// knownFeatures are the features, sorted.
var knownFeatures = []string{featureBuildsOn, featureCompact, featureDeltas, featureEncrypted, featureRepair, featureSplit, featureNames}

// Reader returns what this version reads, for receipts. compressors are those that it reproduces.
func Reader(compressors []string) *state.ArchiveReader {
	return &state.ArchiveReader{Format: format, Features: slices.Clone(knownFeatures), Compressors: slices.Sorted(slices.Values(compressors))}
}

// ReadsDeltas reports whether a reader reads archives with deltas.
func ReadsDeltas(r *state.ArchiveReader) bool {
	return r != nil && r.Format >= format && slices.Contains(r.Features, featureDeltas)
}

// ReadsCompact reports whether a reader reads archives with deltas of CompactFormat.
func ReadsCompact(r *state.ArchiveReader) bool {
	return ReadsDeltas(r) && slices.Contains(r.Features, featureCompact)
}

// A set is the set manifest, which lists the content of one archive. Its JSON is described in
// docs/archive-format.md.
type set struct {
	Format int `json:"format"`
	// Features are what a reader must know beyond the format, in alphabetical order.
	Features   []string      `json:"features"`
	Name       string        `json:"name"` // of the plan: sets of one name are a series
	Sequence   int           `json:"sequence"`
	Parent     digest.Digest `json:"parent"` // of the set manifest before, or ""
	Plan       digest.Digest `json:"plan"`
	VolumeSize int64         `json:"volumeSize"`
	// FirstVolume is the number of the first volume if volumes have the names that oc mirror gives:
	// mirror_000001.tar. It is 0 if they are named after the set.
	FirstVolume int `json:"firstVolume,omitempty"`
	// BuildsOn are the sets whose content this one leaves out, by sequence.
	BuildsOn []state.SetRef `json:"buildsOn,omitempty"`
	// Omitted is content that was left out and that images new in this set need, by digest.
	Omitted []omitted `json:"elsewhere,omitempty"`
	// Deltas are the blobs that are carried as differences to other blobs, by digest.
	Deltas []Delta `json:"deltas,omitempty"`
	// Repairs is the set that this one repairs. It has the same name and sequence.
	Repairs *state.SetRef `json:"repairs,omitempty"`
	// Encryption is nil if nothing is encrypted. Otherwise the set does not describe its content:
	// see encryption.go.
	Encryption *encryption `json:"encryption,omitempty"`
	Volumes    []volume    `json:"volumes"`
}

// An omitted is content that the site has from an earlier set.
type omitted struct {
	Digest     digest.Digest `json:"digest"`
	Size       int64         `json:"size"`
	Repository string        `json:"repository"` // where the content is, by the name in the plan
}

// features returns the features that the set uses.
func (s *set) features() []string {
	used := []string{}
	if len(s.BuildsOn) > 0 {
		used = append(used, featureBuildsOn)
	}
	if slices.ContainsFunc(s.Deltas, func(d Delta) bool { return d.Format == CompactFormat }) {
		used = append(used, featureCompact)
	}
	if len(s.Deltas) > 0 {
		used = append(used, featureDeltas)
	}
	if s.Encryption != nil {
		used = append(used, featureEncrypted)
	}
	if s.Repairs != nil {
		used = append(used, featureRepair)
	}
	if s.split() {
		used = append(used, featureSplit)
	}
	if s.FirstVolume > 0 {
		used = append(used, featureNames)
	}
	return used
}

// all iterates over the entries of all volumes, with the numbers of these, from 0 on.
func (s *set) all() iter.Seq2[int, *entry] {
	return func(yield func(int, *entry) bool) {
		for i := range s.Volumes {
			for j := range s.Volumes[i].Entries {
				if !yield(i, &s.Volumes[i].Entries[j]) {
					return
				}
			}
		}
	}
}

// inParts iterates over the entries that are parts of content.
func (s *set) inParts() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, e := range s.all() {
			if e.Part != nil && !yield(e) {
				return
			}
		}
	}
}

// split reports whether content is in parts.
func (s *set) split() bool {
	for range s.inParts() {
		return true
	}
	return false
}

// identity returns the digest of the set manifest as it was before the digests of parts and of its
// copy were known. Two packings of the same content have the same.
func (s *set) identity() (digest.Digest, error) {
	bare := *s
	bare.Volumes = slices.Clone(s.Volumes)
	for i := range bare.Volumes {
		v := &bare.Volumes[i]
		v.Entries = slices.Clone(v.Entries)
		for j := range v.Entries {
			if v.Entries[j].isCopy() {
				v.Entries[j].Digest = zeroSum
			}
			if p := v.Entries[j].Part; p != nil {
				without := *p
				without.Digest = ""
				v.Entries[j].Part = &without
			}
		}
	}
	d, _, err := WriteFunc(bare.write).measure()
	return d, err
}

// A volume is one tar file.
type volume struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Frame is the sha256 of all bytes that are not the content of an entry, in their order:
	// headers, padding and trailer.
	Frame   digest.Digest `json:"frame"`
	Entries []entry       `json:"entries"` // by offset
}

// An entry is a file in a volume.
type entry struct {
	Path      string        `json:"path,omitempty"`      // "" for content, whose path follows from its digest
	MediaType string        `json:"mediaType,omitempty"` // only of manifests
	Digest    digest.Digest `json:"digest"`              // of the whole content
	Offset    int64         `json:"offset"`              // of the file's bytes, in the volume
	Size      int64         `json:"size"`                // of the file
	Part      *part         `json:"part,omitempty"`      // nil if the file has the whole content
	// Encrypted is the file in the volume that contains the entry encrypted. It is nil if the entry
	// is not encrypted. Offset is the same, and Size is the size of the entry's own bytes.
	Encrypted *entry `json:"-"`
}

// A part is one piece of content that is larger than a volume. The pieces are in the volumes in
// their order.
type part struct {
	Number int   `json:"number"` // from 1 on
	Parts  int   `json:"parts"`  // how many there are, at least 2
	At     int64 `json:"at"`     // its first byte, in the content
	Size   int64 `json:"size"`   // of the whole content
	// Digest is the sha256 of this part. It is empty until the content is written.
	Digest digest.Digest `json:"digest"`
}

// stored returns the file in the volume for the entry.
func (e *entry) stored() *entry {
	if e.Encrypted != nil {
		return e.Encrypted
	}
	return e
}

// path returns the name of the entry in the tar file.
func (e *entry) path() string {
	switch {
	case e.Path != "":
		return e.Path
	case e.Part != nil:
		return fmt.Sprintf("%s.part%04d", layout.BlobPath(e.Digest), e.Part.Number)
	}
	return layout.BlobPath(e.Digest)
}

// length returns the size of the whole content.
func (e *entry) length() int64 {
	if e.Part != nil {
		return e.Part.Size
	}
	return e.Size
}

// isFirst reports whether the entry is content, or the first part of content.
func (e *entry) isFirst() bool { return e.Path == "" && (e.Part == nil || e.Part.Number == 1) }

// contentDigests returns the digest of a manifest or blob. An entry with a path of its own is
// neither.
func (e *entry) contentDigests() []digest.Digest {
	if e.Path != "" {
		return nil
	}
	return []digest.Digest{e.Digest}
}

// A label is the first entry of a volume. It identifies a volume that was renamed or confused with
// another.
type label struct {
	Format     int           `json:"format"`
	Name       string        `json:"name"`
	Sequence   int           `json:"sequence"`
	Repair     bool          `json:"repair,omitempty"`
	Volume     int           `json:"volume"`
	Volumes    int           `json:"volumes"`
	VolumeSize int64         `json:"volumeSize"`
	Plan       digest.Digest `json:"plan"`
	Key        digest.Digest `json:"key,omitempty"` // of an encrypted set, which has neither name nor plan
}

// write writes the set manifest with a line for every entry. The same set gives the same bytes.
func (s *set) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	head := *s
	head.Volumes = []volume{}
	if err := openObject(out, head); err != nil {
		return err
	}
	for i, v := range s.Volumes {
		entries := v.Entries
		v.Entries = []entry{}
		comma(out, i)
		if err := openObject(out, v); err != nil {
			return err
		}
		for j := range entries {
			raw, err := json.Marshal(&entries[j])
			if err != nil {
				return err
			}
			comma(out, j)
			_, _ = out.Write(raw) // Flush returns the error
		}
		_, _ = out.WriteString("\n]}")
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

// openObject writes an object whose last field is an empty list, up to the list's end.
func openObject(out *bufio.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = out.Write(bytes.TrimSuffix(raw, []byte("]}")))
	return err
}

func comma(out *bufio.Writer, i int) {
	separator := ",\n"
	if i == 0 {
		separator = "\n"
	}
	_, _ = out.WriteString(separator) // Flush returns the error
}

// sum returns the checksum file beside the set manifest, as sha256sum writes it. d is the digest of
// the set manifest.
func sum(id setID, d digest.Digest) []byte {
	return fmt.Appendf(nil, "%s  %s\n", d.Encoded(), id.manifest())
}

// isCopy reports whether an entry is the copy of the set manifest, which is the last one of its volume
// and, in an encrypted set, has a number for a name.
func (e *entry) isCopy() bool {
	return e.Path == copyPath && !strings.HasPrefix(string(e.Digest), "sha512:")
}
