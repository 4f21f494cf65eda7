package archive

import (
	"bufio"
	_ "embed"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// joinScript joins the parts of content after the volumes were extracted.
//
//go:embed join.sh
var joinScript string

// sumsName returns the name of an entry in SHA256SUMS: the name of the extracted file, with parts
// joined. It returns "" for what is not listed: labels, SHA256SUMS itself, and content whose sha256
// is not known.
func (e *entry) sumsName() string {
	switch {
	case !strings.HasPrefix(string(e.Digest), string(digest.SHA256)+":"):
		return ""
	case e.isFirst():
		return layout.BlobPath(e.Digest)
	case e.Path == markerPath, e.Path == indexPath, e.Path == planPath, e.Path == joinPath:
		return e.Path
	}
	return ""
}

// writeSums writes SHA256SUMS, as sha256sum reads it, in the order of the volumes.
func (s *set) writeSums(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for i := range s.Volumes {
		for j := range s.Volumes[i].Entries {
			e := &s.Volumes[i].Entries[j]
			if name := e.sumsName(); name != "" {
				_, _ = out.WriteString(e.Digest.Encoded() + "  " + name + "\n") // Flush returns the error
			}
		}
	}
	return out.Flush()
}

// sumsSize returns the length of the lines that SHA256SUMS has for entries. It does not depend on
// their locations.
func sumsSize(entries []entry) int64 {
	var n int64
	for i := range entries {
		if name := entries[i].sumsName(); name != "" {
			n += int64(len(entries[i].Digest.Encoded()) + len("  ") + len(name) + len("\n"))
		}
	}
	return n
}

// setSums fills in the digest of SHA256SUMS, after all entries have their locations.
func (p *packing) setSums() error {
	first := p.set.Volumes[0].Entries
	for i := range first {
		if first[i].Path == sumsPath {
			var err error
			first[i].Digest, _, err = p.files[sumsPath].measure()
			return err
		}
	}
	return nil
}
