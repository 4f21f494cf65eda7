package deltamaker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/delta/recompress"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// cacheVersion changes when deltas of earlier versions must no longer be used, or when blobs that were carried
// whole may have a delta now.
const cacheVersion = 3

// maxEntry limits the description of a delta in the cache, in bytes.
const maxEntry = 64 << 10

// An entry is a delta in the cache, or the reason why there is none. Its JSON is beside the delta file.
type entry struct {
	Reason   Reason              `json:"reason,omitempty"`
	Compared []digest.Digest     `json:"compared,omitempty"` // blobs that share files with one that is carried whole
	Blob     digest.Digest       `json:"blob,omitempty"`
	BlobSize int64               `json:"blobSize,omitempty"`
	Digest   digest.Digest       `json:"delta,omitempty"` // of the delta file
	Bases    []archive.DeltaBase `json:"bases,omitempty"`
	Requires []string            `json:"requires,omitempty"`

	file   string // the delta file
	size   int64  // of the delta file
	cached bool
	format int // that an archive describes it with
}

// key identifies what a delta is made from and how.
func (m *maker) key(c *Change) string {
	h := sha256.New()
	allowed := m.Time
	if m.Effort == delta.Max || m.Compact != nil {
		allowed = 0
	}
	if m.Compact != nil {
		fmt.Fprintln(h, "compact")
	}
	fmt.Fprintln(h, cacheVersion, m.encodes(), m.Effort, allowed, c.Blob.Digest)
	for _, name := range m.reproduces() { // a delta is proven by the program that made it
		fmt.Fprintln(h, name)
	}
	fmt.Fprintln(h)
	for _, b := range c.Candidates {
		fmt.Fprintln(h, b.Digest, b.Repository)
	}
	for _, name := range m.Compressors {
		fmt.Fprintln(h, name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cached returns the delta for a key. A *wholeError tells that it is known that there is none. Both are nil if
// nothing is known, or if the file was damaged.
func (m *maker) cached(key string, c *Change) (*entry, error) {
	raw, _, err := regular.ReadPath(m.path(key+".json"), maxEntry)
	var e entry
	if err != nil || json.Unmarshal(raw, &e) != nil {
		return nil, nil
	}
	now := time.Now()
	_ = os.Chtimes(m.path(key+".json"), now, now) // it is used, so it stays
	if e.Reason == SavesLittle && m.similar.findsMore(c, e.Compared) {
		return nil, nil // one of these may be more like it
	}
	if e.Reason != "" {
		return nil, &wholeError{e.Reason, errors.New("as in an earlier run")}
	}
	if e.Digest.Validate() != nil || !m.haveBases(c, &e) {
		return nil, nil
	}
	e.file, e.format, e.cached = m.file(e.Digest), m.format(), true
	f, _, err := regular.OpenPath(e.file)
	if err != nil {
		return nil, nil
	}
	defer f.Close() // only read from
	sum := digest.SHA256.Digester()
	e.size, err = io.Copy(sum.Hash(), f)
	if err != nil || sum.Digest() != e.Digest || e.Blob != c.Blob.Digest || e.BlobSize != c.Blob.Size {
		m.Log.Warn("a delta in the cache is damaged and is made again", "file", e.file)
		return nil, nil
	}
	_ = os.Chtimes(e.file, now, now)
	return &e, nil
}

// format returns the format of deltas in archives.
func (m *maker) format() int {
	if m.Compact != nil {
		return archive.CompactFormat
	}
	return 0
}

// reproduces returns what this program reproduces.
func (m *maker) reproduces() []string {
	if m.supported != nil {
		return m.supported
	}
	return recompress.Supported()
}

// haveBases reports whether the site has the bases of a delta, and sets where it has them. A delta of a layer that
// shares files with the blob may have been made for a site that has more.
func (m *maker) haveBases(c *Change, e *entry) bool {
	for i := range e.Bases {
		b := &e.Bases[i]
		at := slices.IndexFunc(c.Candidates, func(o Candidate) bool { return o.Digest == b.Digest && o.Size == b.Size })
		if at >= 0 {
			*b = c.Candidates[at].DeltaBase
			continue
		}
		if m.Lookup == nil {
			return false
		}
		base, ok := m.Lookup(b.Digest)
		if !ok || base.Size != b.Size {
			return false
		}
		*b = base.DeltaBase
	}
	return true
}

// file returns the path of a delta file in the cache. It has the name of its content, so another run that makes
// another delta with the same key does not replace it.
func (m *maker) file(d digest.Digest) string { return m.path(d.Encoded() + ".delta") }

// keep puts a delta into the cache, the description last.
func (m *maker) keep(key string, e *entry, w *work) error {
	e.file = m.file(e.Digest)
	err := durable.Write(e.file, func(to io.Writer) error {
		_, err := io.Copy(to, io.NewSectionReader(w.delta, 0, e.size))
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a delta: %w", err)
	}
	return m.keepEntry(key, e)
}

// keepReason remembers why there is no delta, and which blobs that share files were looked at.
func (m *maker) keepReason(key string, why Reason, compared []digest.Digest) error {
	return m.keepEntry(key, &entry{Reason: why, Compared: compared})
}

func (m *maker) keepEntry(key string, e *entry) error {
	raw, err := json.Marshal(e)
	if err == nil {
		err = durable.WriteFile(m.path(key+".json"), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping a delta: %w", err)
	}
	return nil
}

// Expire removes what was not used since a time from the cache in a folder.
func Expire(dir string, before time.Time) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, f := range files {
		info, statErr := f.Info()
		ours := slices.ContainsFunc([]string{".json", ".delta", filesSuffix, sketchSuffix}, func(suffix string) bool { return strings.HasSuffix(f.Name(), suffix) })
		if statErr == nil && ours && info.ModTime().Before(before) {
			errs = append(errs, os.Remove(dir+string(os.PathSeparator)+f.Name()))
		}
	}
	return errors.Join(append(errs, err)...)
}
