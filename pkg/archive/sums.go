package archive

import (
	"bufio"
	_ "embed"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// joinScript joins the parts of content after the volumes were extracted.
//
//go:embed join.sh
var joinScript string

// deltasText tells those who extract the volumes of an archive with deltas that something is missing.
//
//go:embed deltas.txt
var deltasText string

// sumsName returns the name of an entry in SHA256SUMS: the name of the extracted file, with parts
// joined. It returns "" for what is not listed: labels, SHA256SUMS itself, and content whose sha256
// is not known.
func (e *entry) sumsName() string {
	switch {
	case !strings.HasPrefix(string(e.Digest), string(digest.SHA256)+":"):
		return ""
	case e.isFirst():
		return layout.BlobPath(e.Digest)
	case e.Path == markerPath, e.Path == indexPath, e.Path == planPath, e.Path == joinPath, e.Path == deltasPath:
		return e.Path
	}
	return ""
}

// writeSums writes SHA256SUMS, as sha256sum reads it, in the order of the volumes, and then the blobs that
// are carried as deltas: without them, the extracted files are not complete.
func (s *set) writeSums(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	write := func(entries []entry) {
		for i := range entries {
			if name := entries[i].sumsName(); name != "" {
				_, _ = out.WriteString(entries[i].Digest.Encoded() + "  " + name + "\n") // Flush returns the error
			}
		}
	}
	for i := range s.Volumes {
		write(s.Volumes[i].Entries)
	}
	write(rebuilt(s.Deltas))
	return out.Flush()
}

// rebuilt returns entries for the blobs of deltas, as if they were in the set.
func rebuilt(deltas []Delta) []entry {
	var all []entry
	for i := range deltas {
		all = append(all, entry{Digest: deltas[i].Digest, Size: deltas[i].Size})
	}
	return all
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
