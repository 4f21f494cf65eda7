package archive

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/lockfile"
)

// Options are how an archive is written. The zero value is usable.
type Options struct {
	// VolumeSize is the most bytes that a volume may have; 0 means
	// DefaultVolumeSize.
	VolumeSize int64
	// Strict makes content that is larger than a volume an error. Otherwise it is
	// cut into parts.
	Strict bool
	// Replace removes the sets that were in the folder before, once the new one
	// is complete. Otherwise they stay.
	Replace bool
	// Base is what the site has already; nil is nothing. Content that it holds is
	// left out, and the set builds on the sets of Base.
	Base *Base
	// After is the highest sequence of the series that was written elsewhere: the new
	// set's is above it. 0 is none.
	After int
	// Repair is the set that is mended; nil for a set of its own. Content is then
	// what was lost of that set: the index is left out, and the plan may be.
	Repair *Repair
	// Sign, where it is not nil, signs the set manifest: the signature is put
	// beside it, with a name that ends in ".sig".
	Sign func(ctx context.Context, manifest io.Reader) (signature []byte, err error)
	// Known reports whether a set that lies in the folder complete may be signed. Where
	// it looks like the one to be written and may not, another is written. Nil is always.
	Known func(BaseSet) bool
	// Encrypt, where it is not nil, encrypts all that the archive holds and says of it.
	// Nothing of it is readable in the folder at any time.
	Encrypt *Encryption
	Log     *slog.Logger

	// Both are replaced in tests.
	free    func(dir string) (int64, error)
	largest func(dir string) (int64, error)
}

// A Base is what the site that an archive goes to has already.
type Base struct {
	// Sets brought it, in any order; at least one. The new set's sequence is above
	// theirs.
	Sets []BaseSet
	// Holds reports whether the site has a manifest or blob.
	Holds func(digest.Digest) bool
	// Where is the repository, by its name in the plan, in which the site has
	// content that is left out; "" where no image that is new in this set needs it.
	// Nil is "" for everything.
	Where func(digest.Digest) (repository string)
	// Plan and Index are digests of the plan and the index.json that the
	// site has, or "": what is the same is left out.
	Plan, Index digest.Digest
}

// A BaseSet names a set of the series.
type BaseSet struct {
	Sequence int
	Set      digest.Digest // of its set manifest
}

// A Repair says which set is mended.
type Repair struct {
	BaseSet
	Plan digest.Digest // of that set's plan
}

// A Writer writes one set of volumes. It is safe for concurrent use. It has to
// be closed.
type Writer struct {
	*packing
	dir     string
	opts    Options
	root    *os.Root
	partial *os.Root // where volumes stand until Finish
	aside   *os.Root // work for another plan; nil where there is none
	lock    *lockfile.Lock
	volumes []*os.File
	journal *os.File
	slots   []slot // by digest; filled by arrange, then only their fields change
	// more are the second and further parts of content, by digest.
	more    map[digest.Digest][]spot
	buffers sync.Pool

	complete bool // nothing is left to do
	fresh    bool // the partial folder has nothing but what this Writer put there
	closed   bool // the files are

	mu   sync.Mutex // guards the slots' fields and left
	left int64      // bytes of entries that are not done
}

// A spot is a place in a volume.
type spot struct {
	volume int32
	entry  *entry
}

// A slot is the place of content, or of its first part, and what became of it.
// done and busy are guarded by the Writer's mutex.
type slot struct {
	spot
	done bool
	busy chan struct{} // closed when the goroutine that writes it is through
	// earlier is where the content is in an earlier set; nil where it is in none.
	// It belongs to the goroutine that writes.
	earlier *find
}

// Complete reports whether the folder has had a set with this content before:
// the Writer has nothing to do and writes nothing.
func (w *Writer) Complete() bool { return w.complete }

// Set names the set; its digest is known once Finish has ended well, or where the
// Writer is Complete.
func (w *Writer) Set() (BaseSet, error) {
	if !w.complete {
		return BaseSet{Sequence: w.set.Sequence}, nil
	}
	d, _, err := Text(w.outer.write).measure()
	return BaseSet{w.set.Sequence, d}, err
}

// Sequence is the number of the set, the same that is in the names of its files.
func (w *Writer) Sequence() int { return w.set.Sequence }

// arrange makes a slot of every place for content.
func (w *Writer) arrange() {
	n := 0
	for i := range w.set.Volumes {
		n += len(w.set.Volumes[i].Entries)
	}
	w.slots = make([]slot, 0, n)
	w.more = map[digest.Digest][]spot{}
	for i := range w.set.Volumes {
		v := &w.set.Volumes[i]
		for j := range v.Entries {
			e := &v.Entries[j]
			at := spot{int32(i), e} // maxVolumes is far below
			switch {
			case e.leads():
				w.slots = append(w.slots, slot{spot: at})
				w.left += e.length()
			case e.Part != nil:
				w.more[e.Digest] = append(w.more[e.Digest], at)
			}
		}
	}
	slices.SortFunc(w.slots, func(a, b slot) int { return strings.Compare(string(a.entry.Digest), string(b.entry.Digest)) })
}

// spots are the places of content, one for each part.
func (w *Writer) spots(s *slot) []spot {
	return append([]spot{s.spot}, w.more[s.entry.Digest]...)
}

// slot is the place for content; nil where the set has none for it. It looks at
// nothing of a slot that changes.
func (w *Writer) slot(d digest.Digest) *slot {
	i, ok := sort.Find(len(w.slots), func(i int) int {
		return strings.Compare(string(d), string(w.slots[i].entry.Digest))
	})
	if !ok {
		return nil
	}
	return &w.slots[i]
}

// Has reports whether content was written and found right, by this run or an
// earlier one that was interrupted, or is left out since the site has it.
func (w *Writer) Has(desc ocispec.Descriptor) bool {
	s := w.slot(desc.Digest)
	if s == nil {
		return w.opts.leftOut(desc.Digest)
	}
	if s.entry.length() != desc.Size {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.done
}

// missing names what is not written yet; "" where nothing is.
func (w *Writer) missing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	n := 0
	for _, v := range w.set.Volumes {
		for i := range v.Entries {
			e := &v.Entries[i]
			if !e.leads() || w.slot(e.Digest).done {
				continue
			}
			if n++; n <= 5 {
				names = append(names, e.Digest.String())
			}
		}
	}
	if n == 0 {
		return ""
	}
	if n > len(names) {
		names = append(names, fmt.Sprintf("and %d more", n-len(names)))
	}
	return strings.Join(names, ", ")
}
