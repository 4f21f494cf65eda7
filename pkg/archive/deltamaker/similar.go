package deltamaker

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

const (
	// maxFiles is how many files of a layer are remembered.
	maxFiles = 20_000
	// minShared is the part of the files of a layer that another one must have to be a candidate.
	minShared = 0.3
	// maxSimilar is how many layers are candidates because of their files.
	maxSimilar  = 2
	filesSuffix = ".files"
)

// similarLayers finds layers that share files with another one, among those that deltas were made for earlier.
// It remembers hashes of paths.
type similarLayers struct {
	dir string
	// lookup returns what the site has with a digest.
	lookup func(digest.Digest) (Candidate, bool)

	load   sync.Once
	mu     sync.Mutex
	layers map[digest.Digest][]uint64
}

// any reports whether it remembers any layers.
func (s *similarLayers) any() bool {
	s.load.Do(s.read)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.layers) > 0 && s.lookup != nil
}

// findsMore reports whether a layer of the site has files in common with a blob that is remembered, and is not among
// those that were compared with it.
func (s *similarLayers) findsMore(c *Change, compared []digest.Digest) bool {
	s.load.Do(s.read)
	s.mu.Lock()
	files := s.layers[c.Blob.Digest]
	s.mu.Unlock()
	return slices.ContainsFunc(s.find(c, files), func(o Candidate) bool { return !slices.Contains(compared, o.Digest) })
}

// find returns the layers of the site that have the most files in common with those of a blob, and that are not
// among its candidates.
func (s *similarLayers) find(c *Change, files []uint64) []Candidate {
	s.load.Do(s.read)
	if len(files) == 0 || s.lookup == nil {
		return nil
	}
	type match struct {
		Candidate
		shared float64
	}
	var found []match
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, other := range s.layers {
		if d == c.Blob.Digest || slices.ContainsFunc(c.Candidates, func(o Candidate) bool { return o.Digest == d }) {
			continue
		}
		if base, ok := s.lookup(d); ok && base.Source != "" {
			if part := float64(shared(files, other)) / float64(max(len(files), len(other))); part >= minShared {
				found = append(found, match{base, part})
			}
		}
	}
	elements.Sort(found, func(a, b match) int { return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.Digest, b.Digest)) })
	return elements.Map(found[:min(len(found), maxSimilar)], func(f match) Candidate { return f.Candidate })
}

// shared returns how many numbers two sorted lists have in common.
func shared(a, b []uint64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			n++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return n
}

// fileHashes returns hashes of the paths of files, sorted and without duplicates.
func fileHashes(members *delta.Members) []uint64 {
	var all []uint64
	for i := range members.Files {
		if f := &members.Files[i]; f.Path != "" && f.Size > 0 && len(all) < maxFiles {
			h := fnv.New64a()
			_, _ = io.WriteString(h, f.Path) // never fails
			all = append(all, h.Sum64())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// remember keeps the files of a layer.
func (s *similarLayers) remember(d digest.Digest, members *delta.Members) error {
	s.load.Do(s.read)
	files := fileHashes(members)
	s.mu.Lock()
	_, known := s.layers[d]
	s.layers[d] = files
	s.mu.Unlock()
	if known || len(files) == 0 {
		return nil
	}
	raw := make([]byte, 0, 8*len(files))
	for _, h := range files {
		raw = binary.LittleEndian.AppendUint64(raw, h)
	}
	if err := durable.WriteFile(s.path(d), raw); err != nil {
		return fmt.Errorf("keeping the files of a layer: %w", err)
	}
	return nil
}

func (s *similarLayers) path(d digest.Digest) string {
	return filepath.Join(s.dir, d.Algorithm().String()+"-"+d.Encoded()+filesSuffix)
}

// read reads what earlier runs remembered. Files that cannot be read are skipped.
func (s *similarLayers) read() {
	s.layers = map[digest.Digest][]uint64{}
	names, err := filepath.Glob(filepath.Join(s.dir, "*"+filesSuffix))
	if err != nil {
		return
	}
	for _, name := range names {
		d := digest.Digest(strings.Replace(strings.TrimSuffix(filepath.Base(name), filesSuffix), "-", ":", 1))
		raw, _, err := regular.ReadPath(name, 8*maxFiles)
		if err != nil || layout.CheckDigest(d) != nil || len(raw)%8 != 0 || len(raw) > 8*maxFiles {
			continue
		}
		var files []uint64
		for ; len(raw) > 0; raw = raw[8:] {
			files = append(files, binary.LittleEndian.Uint64(raw))
		}
		s.layers[d] = files
	}
}

var errNoBase = errors.New("the site has nothing that it may be based on and that can be read")
