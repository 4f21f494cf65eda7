package archive

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Options are the options of Create. The zero value is usable.
type Options struct {
	// VolumeSize is the maximum size of a volume in bytes. 0 is DefaultVolumeSize.
	VolumeSize int64
	// Strict refuses content that is larger than a volume. Otherwise it is split.
	Strict bool
	// OCMirrorNames gives volumes the names mirror_000001.tar and so on. The numbers follow those of
	// such files in the folder. A repair has its own names.
	OCMirrorNames bool
	// Replace removes the older sets in the folder once the new one is complete. Otherwise they
	// stay.
	Replace bool
	// Base is what the site already has, or nil. Its content is left out, and the set builds on its
	// sets.
	Base *Base
	// After is the highest sequence of the series that was written elsewhere, or 0. The new
	// sequence is higher.
	After int
	// Repair is the set to repair, or nil. The content is then what that set lost: the index is
	// left out, and the plan may be.
	Repair *Repair
	// Sign, if not nil, signs the set manifest. The signature is written beside it, with ".sig"
	// added to the name.
	Sign func(ctx context.Context, manifest io.Reader) (signature []byte, err error)
	// MaySign reports whether a complete set in the folder may be signed. If it equals the set to
	// be written and may not be signed, another set is written. Nil is always true.
	MaySign func(state.SetRef) bool
	// Encrypt, if not nil, encrypts everything that the archive contains and tells about it.
	// Nothing of it is readable in the folder at any time.
	Encrypt *Encryption
	// Redundancy, if not 0, is the percentage of the volumes that parity files are added for: lost or
	// damaged volumes can be rebuilt from them. Volumes are a little smaller then, so that parity files
	// do not exceed VolumeSize.
	Redundancy int
	// WatchParity, if not nil, is called when the parity files begin to be computed from total bytes. done
	// returns how many of them were read. The returned stop function is called at the end.
	WatchParity func(total int64, done func() int64) (stop func())
	Log         *slog.Logger

	// firstVolume is the FirstVolume of the set that is packed. withoutCopy means that it has no copy
	// of its manifest, as those that earlier versions wrote.
	firstVolume int
	withoutCopy bool

	// Both are replaced in tests.
	freeSpace   func(dir string) (int64, error)
	maxFileSize func(dir string) (int64, error)
}

// A Base is what the destination site of an archive already has.
type Base struct {
	// Sets are the sets with the content, in any order, at least one. The new sequence is higher
	// than theirs.
	Sets []state.SetRef
	// Has reports whether the site has a manifest or blob.
	Has func(digest.Digest) bool
	// RepositoryOf returns the repository, by its name in the plan, in which the site has omitted
	// content. It returns "" if no image that is new in this set needs it. Nil returns "" for
	// everything.
	RepositoryOf func(digest.Digest) (repository string)
	// HasBlob reports whether the site has a blob that a delta may be based on. Nil is never.
	HasBlob func(digest.Digest) bool
	// Plan and Index are the digests of the plan and the index.json that the site has, or "". The
	// same plan or index is left out.
	Plan, Index digest.Digest
}

// A Repair names the set to repair.
type Repair struct {
	state.SetRef
	Plan digest.Digest // of that set's plan
}

// A Writer writes one set of volumes. It is safe for concurrent use. It must be closed.
type Writer struct {
	*packing
	dir     string
	opts    Options
	root    *os.Root
	partial *os.Root // contains the volumes until Finish
	aside   *os.Root // work for another plan, or nil
	lock    *lockfile.Lock
	volumes []*os.File
	journal *os.File
	slots   []slot // by digest; filled by arrange, then only their fields change
	// furtherParts are the second and further parts of content, by digest.
	furtherParts map[digest.Digest][]target
	carried      map[digest.Digest]*CarriedDelta // by the digests of their blobs
	buffers      sync.Pool

	complete bool // nothing is left to do
	fresh    bool // the partial folder has nothing but what this Writer put there
	closed   bool // the files are

	mu        sync.Mutex // guards the slots' fields and left
	remaining int64      // bytes of entries that are not done
}

// A target is an entry and the volume that it is written to.
type target struct {
	volume int32
	entry  *entry
}

// A slot is the target of content, or of its first part, and its progress. The Writer's mutex
// guards done and busy.
type slot struct {
	target
	done bool
	busy chan struct{} // closed when the goroutine that writes it is through
	// reusable is the content in an earlier set, or nil. It belongs to the goroutine that writes.
	reusable *reusable
}

// Complete reports whether the folder already had a set with this content. The Writer has nothing
// to do then and writes nothing.
func (w *Writer) Complete() bool { return w.complete }

// Ref returns the reference to the set. Its digest is known after Finish succeeded, or if the
// Writer is Complete.
func (w *Writer) Ref() (state.SetRef, error) {
	if !w.complete {
		return state.SetRef{Sequence: w.set.Sequence}, nil
	}
	d, _, err := WriteFunc(w.outer.write).measure()
	return state.SetRef{Sequence: w.set.Sequence, Set: d}, err
}

// Sequence returns the sequence of the set, which is also in the names of its files.
func (w *Writer) Sequence() int { return w.set.Sequence }

// makeSlots makes a slot for every content.
func (w *Writer) makeSlots() {
	w.slots = make([]slot, 0, w.set.entries())
	w.furtherParts = map[digest.Digest][]target{}
	for i, e := range w.set.all() {
		at := target{int32(i), e} //nolint:gosec // maxVolumes is far below
		switch {
		case e.isFirst():
			w.slots = append(w.slots, slot{target: at})
			w.remaining += e.length()
		case e.Part != nil:
			w.furtherParts[e.Digest] = append(w.furtherParts[e.Digest], at)
		}
	}
	elements.Sort(w.slots, func(a, b slot) int { return strings.Compare(string(a.entry.Digest), string(b.entry.Digest)) })
}

// targets returns the targets of content, one for each part.
func (w *Writer) targets(s *slot) []target {
	return append([]target{s.target}, w.furtherParts[s.entry.Digest]...)
}

// slot returns the slot for content, or nil if the set does not contain it. It reads nothing of a
// slot that changes.
func (w *Writer) slot(d digest.Digest) *slot {
	i, ok := sort.Find(len(w.slots), func(i int) int {
		return strings.Compare(string(d), string(w.slots[i].entry.Digest))
	})
	if !ok {
		return nil
	}
	return &w.slots[i]
}

// slotFor returns the slot for content, or for the delta that it is carried as, which is returned then too.
// The slot is nil if the set contains neither with this size.
func (w *Writer) slotFor(desc ocispec.Descriptor) (*slot, *CarriedDelta) {
	if delta := w.carried[desc.Digest]; delta != nil && delta.Size == desc.Size {
		return w.slot(delta.File), delta
	}
	if s := w.slot(desc.Digest); s != nil && s.entry.length() == desc.Size {
		return s, nil
	}
	return nil, nil
}

// Has reports whether content was written and verified, by this run or an interrupted one before,
// or is left out since the site has it.
func (w *Writer) Has(desc ocispec.Descriptor) bool {
	s, _ := w.slotFor(desc)
	if s == nil {
		return w.slot(desc.Digest) == nil && w.opts.omits(desc.Digest)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.done
}

// unwritten lists what is not written yet, or "".
func (w *Writer) unwritten() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	n := 0
	for _, e := range w.set.all() {
		if !e.isFirst() || w.slot(e.Digest).done {
			continue
		}
		if n++; n <= 5 {
			names = append(names, e.Digest.String())
		}
	}
	if n > len(names) {
		names = append(names, fmt.Sprintf("and %d more", n-len(names)))
	}
	return strings.Join(names, ", ")
}
