package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

const (
	repairRequestKind    = "GantryRepairRequest"
	repairRequestVersion = 1
	// maxRepairRequestSize is the maximum size of a request in bytes.
	maxRepairRequestSize = 64 << 20
	// maxSources is the maximum number of sources of one blob.
	maxSources = 1000
)

// A RepairRequest lists the content that an archive lost. The site with the damaged archive writes
// it, and the connected side, which can reach the sources, writes a repair from it. The request
// lists every manifest and blob with the images that contain it, so that no plan is needed for the
// repair.
type RepairRequest struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name is the name of the image set, and so of its series of archives.
	Name string `json:"name"`
	SetRef
	// Plan is the digest of the archive's plan.
	Plan digest.Digest `json:"plan"`
	// PlanLost reports whether the plan is requested too.
	PlanLost bool `json:"planLost,omitempty"`
	// Encrypted reports whether the archive is encrypted. Its repair must be encrypted, too.
	Encrypted bool `json:"encrypted,omitempty"`
	// Content is the requested content by digest, each once.
	Content []LostContent `json:"content"`
}

// LostContent is a manifest or blob that an archive lost.
type LostContent struct {
	Digest    digest.Digest `json:"digest"`
	Size      int64         `json:"size"`                // bytes
	MediaType string        `json:"mediaType,omitempty"` // of a manifest; empty for a blob
	// Sources are images that contain it, named as in plans: at least one, unless the plan is lost.
	Sources []string `json:"sources"`
}

// IsEmpty reports whether nothing is requested.
func (r *RepairRequest) IsEmpty() bool { return len(r.Content) == 0 && !r.PlanLost }

// Bytes returns the size of the requested content, without the plan.
func (r *RepairRequest) Bytes() (n int64) {
	for _, c := range r.Content {
		n += c.Size
	}
	return n
}

// ReadRepairRequest reads a request. Unknown fields, and content that no archive can have, are
// errors.
func ReadRepairRequest(in io.Reader) (*RepairRequest, error) {
	r := &RepairRequest{}
	if err := readDocument(in, maxRepairRequestSize, r); err != nil {
		return nil, fmt.Errorf("reading the repair request: %w", err)
	}
	return r, nil
}

func (r *RepairRequest) check() error {
	if err := (header{r.Kind, r.Version, r.Name}).check(repairRequestKind, repairRequestVersion); err != nil {
		return err
	}
	switch {
	case r.Sequence < 1 || r.Sequence > maxSequence:
		return fmt.Errorf("sequence %d", r.Sequence)
	case r.IsEmpty():
		return errors.New("it requests nothing")
	}
	for _, d := range []digest.Digest{r.Set, r.Plan} {
		if err := layout.CheckDigest(d); err != nil {
			return err
		}
	}
	var before digest.Digest
	for i := range r.Content {
		c := &r.Content[i]
		if err := layout.CheckDigest(c.Digest); err != nil {
			return err
		}
		switch {
		case c.Digest <= before:
			return fmt.Errorf("content: %s does not come after %s", c.Digest, before)
		case c.Size < 0 || c.MediaType != "" && (!manifest.Is(c.MediaType) || c.Size > manifest.MaxSize):
			return fmt.Errorf("content: %s of %d bytes and the media type %.80q", c.Digest, c.Size, c.MediaType)
		case len(c.Sources) == 0 && !r.PlanLost || len(c.Sources) > maxSources:
			return fmt.Errorf("content: %s has %d sources, not from 1 to %d", c.Digest, len(c.Sources), maxSources)
		}
		before = c.Digest
	}
	return nil
}

// Write writes the request as JSON. It sets Kind and Version. The same request gives the same bytes.
func (r *RepairRequest) Write(out io.Writer) error {
	r.Kind, r.Version = repairRequestKind, repairRequestVersion
	if r.Content == nil {
		r.Content = []LostContent{}
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("writing the repair request: %w", err)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}
