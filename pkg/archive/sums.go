package archive

import (
	"bufio"
	"cmp"
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// joinScript joins the parts of content after the volumes were extracted.
//
//go:embed join.sh
var joinScript string

// These texts tell those who extract the volumes of an archive with deltas that something is missing.
var (
	//go:embed deltas.txt
	differencesText string
	//go:embed compact.txt
	compactText string
)

// deltasText returns the text about the set. If it builds on others, a complete layout needs these, too.
func (s *set) deltasText() string {
	if len(s.BuildsOn) == 0 {
		return compactText
	}
	return differencesText
}

// sumsLine returns the line of an entry in SHA256SUMS, with the name of the extracted file, with parts
// joined. It returns "" for what is not listed: labels, SHA256SUMS itself, and content whose sha256
// is not known.
func (e *entry) sumsLine() string {
	listed := e.isFirst() || slices.Contains([]string{markerPath, indexPath, planPath, joinPath, deltasPath}, e.Path)
	if !listed || !strings.HasPrefix(string(e.Digest), string(digest.SHA256)+":") {
		return ""
	}
	return e.Digest.Encoded() + "  " + cmp.Or(e.Path, layout.BlobPath(e.Digest)) + "\n"
}

// writeSums writes SHA256SUMS, as sha256sum reads it, in the order of the volumes, and then the blobs that
// are carried as deltas: without them, the extracted files are not complete.
func (s *set) writeSums(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for _, e := range s.all() {
		_, _ = out.WriteString(e.sumsLine()) // Flush returns the error
	}
	for _, e := range rebuilt(s.Deltas) {
		_, _ = out.WriteString(e.sumsLine()) // as above
	}
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
		n += int64(len(entries[i].sumsLine()))
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
