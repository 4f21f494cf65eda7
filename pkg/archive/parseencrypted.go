package archive

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// encryptedEntry checks an encrypted file.
func (c *checker) encryptedEntry(e *entry) error {
	c.files++
	if want := encryptedPath(c.files); e.Path != want || e.MediaType != "" || e.Part != nil {
		return fmt.Errorf("path %q is not %s", e.Path, want)
	}
	if c.unfinished && e.Digest == "" {
		return nil
	}
	if err := layout.CheckDigest(e.Digest); err != nil || e.Digest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("the digest %.100q of %s is not a sha256", e.Digest, e.Path)
	}
	return nil
}

// innerVolume checks the encrypted entries of a volume.
func (c *checker) innerVolume(i int) error {
	v, out := &c.set.Volumes[i], &c.outer.Volumes[i]
	if v.Size != out.Size || len(v.Entries) != len(out.Entries) {
		return fmt.Errorf("%d entries in %d bytes, not %d in %d", len(v.Entries), v.Size, len(out.Entries), out.Size)
	}
	for j := range v.Entries {
		e, file := &v.Entries[j], &out.Entries[j]
		if err := c.entry(e, i, j); err != nil {
			return fmt.Errorf("entries[%d]: %w", j, err)
		}
		if j == 0 {
			if e.Digest != file.Digest || e.Size != file.Size || e.Offset != file.Offset {
				return fmt.Errorf("entries[0]: another label")
			}
			continue
		}
		if e.Offset != file.Offset || e.Size < 0 || e.Size > file.Size {
			return fmt.Errorf("entries[%d]: %d bytes at %d are not in %s of %d bytes at %d", j, e.Size, e.Offset, file.Path, file.Size, file.Offset)
		}
		e.Encrypted = file
	}
	return nil
}

// checkInner compares the inner set manifest with the outer one.
func (s *set) checkInner(outer *set) error {
	same := s.id() == outer.id() && s.Parent == outer.Parent && s.VolumeSize == outer.VolumeSize && s.FirstVolume == outer.FirstVolume &&
		slices.Equal(s.BuildsOn, outer.BuildsOn) && (s.Repairs == nil || *s.Repairs == *outer.Repairs)
	if !same {
		return fmt.Errorf("it belongs to another set than %s", outer.id().manifest())
	}
	return nil
}
