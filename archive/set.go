package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// format is the version of the format that this package writes and reads.
const format = 1

// A set is the set manifest: what one archive consists of. docs/archive-format.md
// describes its JSON.
type set struct {
	Format int `json:"format"`
	// Features are what a reader must know beyond the format. There is none yet.
	Features   []string      `json:"features"`
	Sequence   int           `json:"sequence"`
	Parent     digest.Digest `json:"parent"` // of the set manifest before, or ""
	Plan       digest.Digest `json:"plan"`
	VolumeSize int64         `json:"volumeSize"`
	Volumes    []volume      `json:"volumes"`
}

// A volume is one tar file.
type volume struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Frame is the sha256 of all bytes that are not the content of an entry,
	// in their order: headers, padding and trailer.
	Frame   digest.Digest `json:"frame"`
	Entries []entry       `json:"entries"` // by offset
}

// An entry is a file in a volume.
type entry struct {
	Path      string        `json:"path,omitempty"`      // "" for a blob, whose path follows from its digest
	MediaType string        `json:"mediaType,omitempty"` // only of manifests
	Digest    digest.Digest `json:"digest"`
	Offset    int64         `json:"offset"` // of the content, in the volume
	Size      int64         `json:"size"`
}

// path is the name of the entry in the tar file.
func (e *entry) path() string {
	if e.Path != "" {
		return e.Path
	}
	return layout.BlobPath(e.Digest)
}

// content is the digest of a manifest or blob; an entry with a path of its own
// is neither.
func (e *entry) content() []digest.Digest {
	if e.Path != "" {
		return nil
	}
	return []digest.Digest{e.Digest}
}

// A label is what a volume says about itself in its first entry, so that one
// that was renamed or mixed up is recognised.
type label struct {
	Format     int           `json:"format"`
	Sequence   int           `json:"sequence"`
	Volume     int           `json:"volume"`
	Volumes    int           `json:"volumes"`
	VolumeSize int64         `json:"volumeSize"`
	Plan       digest.Digest `json:"plan"`
}

// write writes the set manifest with a line for every entry. The same set gives
// the same bytes.
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
			_, _ = out.Write(raw) // Flush tells
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
	_, _ = out.WriteString(separator) // Flush tells
}

// sum is the file beside the set manifest that protects it, as sha256sum writes
// it. d is the digest of the set manifest.
func sum(sequence int, d digest.Digest) []byte {
	return fmt.Appendf(nil, "%s  %s\n", d.Encoded(), setName(sequence))
}
