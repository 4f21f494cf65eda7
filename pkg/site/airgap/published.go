package airgap

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/state"
)

// Published returns the digest of the image that a site has under REPOSITORY:TAG before this archive, and the
// sequence that brought it: the archive that this one builds on, or the newest that was written. The digest is "" if
// there is none.
func (n *Export) Published(repository, tag string) (digest.Digest, int, error) {
	r, sequence, err := n.siteBefore()
	if err != nil || r == nil {
		return "", 0, err
	}
	i, found := slices.BinarySearchFunc(r.Repositories, repository, func(r state.Repository, name string) int { return strings.Compare(r.Name, name) })
	if !found {
		return "", 0, nil
	}
	for _, img := range r.Repositories[i].Images {
		if slices.Contains(img.Tags, tag) {
			return img.Digest, sequence, nil
		}
	}
	return "", 0, nil
}

// siteBefore returns what a site has before this archive; nil if that is unknown.
func (n *Export) siteBefore() (*state.Receipt, int, error) {
	l := n.history
	if l.base != nil {
		return l.base.receipt, l.base.set.Sequence, nil
	}
	if len(l.exports) == 0 {
		return nil, 0, nil
	}
	if n.before == nil {
		newest := l.exports[len(l.exports)-1]
		r, err := readAndClose(l.ws.OpenExportReceipt(l.name, newest.Sequence))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, nil // it was damaged, and the user removed it: all content is written
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading what sequence %d of %q contains: %w", newest.Sequence, l.name, err)
		}
		n.before = r
	}
	return n.before, l.exports[len(l.exports)-1].Sequence, nil
}
