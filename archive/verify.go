package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// readBuffer is how many bytes are read at once.
const readBuffer = 1 << 20

// Size is how many bytes all volumes have together.
func (a *Archive) Size() int64 {
	var n int64
	for _, v := range a.set.Volumes {
		n += v.Size
	}
	return n
}

// Verify reads every byte of the volumes once, in their order. What is not as it
// was written is collected in a *DamageError. progress, where it is not nil, is
// told how many bytes were read since it was called last.
func (a *Archive) Verify(ctx context.Context, progress func(n int64)) error {
	if progress == nil {
		progress = func(int64) {}
	}
	r := &reading{buf: make([]byte, readBuffer), progress: progress}
	var damage []Damage
	for i := range a.set.Volumes {
		v := &a.set.Volumes[i]
		if problem := a.unfit[i]; problem != "" {
			damage = append(damage, Damage{File: v.Name, Problem: problem, Lost: r.lost(ctx, a.volumes[i], v)})
		} else {
			damage = append(damage, r.volume(ctx, a.volumes[i], v)...)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(damage) > 0 {
		return &DamageError{Dir: a.root.Name(), Damage: damage}
	}
	return nil
}

// A reading is one pass over volumes.
type reading struct {
	buf      []byte
	progress func(int64)
}

// volume compares a volume with its part of the set manifest.
func (r *reading) volume(ctx context.Context, f *os.File, v *volume) []Damage {
	var damage []Damage
	frame := sha256.New()
	var end int64
	for i := range v.Entries {
		e := &v.Entries[i]
		if err := r.hash(frame, f, end, e.Offset-end); err != nil {
			damage = append(damage, Damage{File: v.Name, Problem: err.Error()})
		}
		if problem := r.entry(ctx, f, e); problem != "" {
			damage = append(damage, Damage{File: v.Name, Entry: e.path(), Offset: e.Offset, Problem: problem, Lost: e.content()})
		}
		end = e.Offset + e.Size
		if ctx.Err() != nil {
			return nil
		}
	}
	if err := r.hash(frame, f, end, v.Size-end); err != nil {
		damage = append(damage, Damage{File: v.Name, Problem: err.Error()})
	} else if digest.NewDigest(digest.SHA256, frame) != v.Frame {
		damage = append(damage, locate(f, v)...)
	}
	return damage
}

// lost finds the content of a volume that cannot be read in a file that is not
// as the volume should be; f is nil where there is none.
func (r *reading) lost(ctx context.Context, f *os.File, v *volume) []digest.Digest {
	var lost []digest.Digest
	for i := range v.Entries {
		e := &v.Entries[i]
		if f == nil || r.entry(ctx, f, e) != "" {
			lost = append(lost, e.content()...)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return lost
}

// hash adds n bytes of the file from offset on to h.
func (r *reading) hash(h hash.Hash, f *os.File, offset, n int64) error {
	m, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{io.NewSectionReader(f, offset, n)}, r.buf)
	r.progress(m)
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("unreadable from offset %d: %w", offset+m, err)
	}
	return nil
}

// entry compares an entry with its digest.
func (r *reading) entry(ctx context.Context, f *os.File, e *entry) string {
	section := io.NopCloser(io.NewSectionReader(f, e.Offset, e.Size))
	body, err := layout.Verified(ctx, section, ocispec.Descriptor{Digest: e.Digest, Size: e.Size}, e.path())
	if err != nil {
		return err.Error()
	}
	for {
		n, err := body.Read(r.buf)
		r.progress(int64(n))
		if err == io.EOF {
			return ""
		}
		if err != nil {
			what, _ := problem(err)
			return what // "" where ctx ended, which the caller sees
		}
	}
}

// locate finds out where the frame of a volume is damaged: it is compared with
// what this package would have written. A frame that another program wrote in
// its own way may differ in places that are sound.
func locate(f *os.File, v *volume) []Damage {
	var damage []Damage
	var end int64
	look := func(offset int64, want []byte, what string) {
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, offset); err != nil && !errors.Is(err, io.EOF) || bytes.Equal(got, want) {
			return
		}
		damage = append(damage, Damage{File: v.Name, Problem: fmt.Sprintf("the bytes from offset %d were altered: %s", offset, what)})
	}
	for i := range v.Entries {
		e := &v.Entries[i]
		before := prelude(e.path(), e.Size)
		if e.Offset-int64(len(before)) != end {
			break // not laid out by this package
		}
		look(end, before, "the header of "+e.path())
		end = e.Offset + padded(e.Size)
		look(e.Offset+e.Size, make([]byte, end-e.Offset-e.Size), "the padding of "+e.path())
	}
	if end+trailerSize == v.Size {
		look(end, make([]byte, trailerSize), "the end of the volume")
	}
	if len(damage) == 0 {
		damage = append(damage, Damage{File: v.Name, Problem: "bytes between the entries were altered"})
	}
	return damage
}
