package archive

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	refs "github.com/gantry-mirror/gantry/pkg/reference"
)

// check checks the set manifest without its volumes.
func (s *set) check() error {
	used := s.features()
	if !slices.Equal(s.Features, used) {
		return fmt.Errorf("its features are [%s], but what it has are [%s]", quoted(s.Features), quoted(used))
	}
	s.Features = used // an empty list if the set had none
	if !refs.IsSetName(s.Name) {
		return fmt.Errorf("name %.60q", s.Name)
	}
	if s.Sequence < 1 || s.Sequence > maxSequence {
		return fmt.Errorf("sequence %d is not from 1 to %d", s.Sequence, maxSequence)
	}
	if s.FirstVolume < 0 || s.FirstVolume > maxVolumeFile-len(s.Volumes)+1 || s.FirstVolume > 0 && s.Repairs != nil {
		return fmt.Errorf("first volume %d", s.FirstVolume)
	}
	if s.Parent != "" {
		if err := layout.CheckDigest(s.Parent); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
	}
	if s.Encryption != nil {
		if err := s.checkOuter(); err != nil {
			return err
		}
	} else if err := layout.CheckDigest(s.Plan); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if s.VolumeSize < 0 {
		return fmt.Errorf("volumeSize %d", s.VolumeSize)
	}
	if n := len(s.Volumes); n < 1 || n > maxVolumes {
		return fmt.Errorf("it has %d volumes, not from 1 to %d", n, maxVolumes)
	}
	return s.checkReferences()
}

// checkReferences checks the references to other sets.
func (s *set) checkReferences() error {
	if r := s.Repairs; r != nil {
		if err := layout.CheckDigest(r.Set); err != nil || r.Sequence != s.Sequence {
			return fmt.Errorf("it repairs sequence %d with the set manifest %.80q, and has sequence %d", r.Sequence, r.Set, s.Sequence)
		}
		if len(s.BuildsOn) > 0 {
			return fmt.Errorf("it repairs a set and builds on others")
		}
	}
	last := 0
	for _, b := range s.BuildsOn {
		if b.Sequence <= last || b.Sequence >= s.Sequence {
			return fmt.Errorf("it builds on sequence %d, after %d and before %d", b.Sequence, last, s.Sequence)
		}
		if err := layout.CheckDigest(b.Set); err != nil {
			return fmt.Errorf("it builds on sequence %d: %w", b.Sequence, err)
		}
		last = b.Sequence
	}
	var before digest.Digest
	for i := range s.Omitted {
		h := &s.Omitted[i]
		if len(s.BuildsOn) == 0 {
			return fmt.Errorf("it omits %.80q and builds on nothing", h.Digest)
		}
		if err := h.check(); err != nil {
			return err
		}
		if h.Digest <= before {
			return fmt.Errorf("elsewhere: %s does not come after %s", h.Digest, before)
		}
		before = h.Digest
	}
	return s.checkDeltas()
}

func (h *omitted) check() error {
	if err := layout.CheckDigest(h.Digest); err != nil {
		return fmt.Errorf("elsewhere: %w", err)
	}
	if h.Size < 0 || !refs.IsPath(h.Repository) {
		return fmt.Errorf("elsewhere: %s of %d bytes in the repository %.80q", h.Digest, h.Size, h.Repository)
	}
	return nil
}
