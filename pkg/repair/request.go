// Package repair has the list of content that a carried archive lost: who has the
// damaged archive writes it, and who can reach the sources ships what it names.
//
// A request is a small JSON file. It names the set that it is about by sequence and
// by the digest of its set manifest, and each manifest or blob with the images that
// have it, so that nothing has to be planned to answer it.
package repair

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/document"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/manifest"
)

const (
	kind    = "GantryRepairRequest"
	version = 1
	// MaxSize is the most bytes that a request may have.
	MaxSize = 64 << 20
	// maxSources bounds the sources of one blob.
	maxSources = 1000
)

// A Request says what is wanted of a set.
type Request struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name is that of the plan: the series of the set.
	Name     string        `json:"name"`
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set"`  // of its set manifest
	Plan     digest.Digest `json:"plan"` // of its plan
	// PlanLost says that the plan is wanted too.
	PlanLost bool `json:"planLost,omitempty"`
	// Encrypted says that the set is, so that its repair has to be.
	Encrypted bool `json:"encrypted,omitempty"`
	// Content is what is wanted, by digest, each once.
	Content []Content `json:"content"`
}

// Content is one manifest or blob.
type Content struct {
	Digest    digest.Digest `json:"digest"`
	Size      int64         `json:"size"`                // bytes
	MediaType string        `json:"mediaType,omitempty"` // of a manifest; "" for a blob
	// Sources are images that have it, as a plan names them; at least one, unless the
	// plan is lost.
	Sources []string `json:"sources"`
}

// Read reads a request, which may come from anybody. What it does not know, and what
// no archive could want, is an error.
func Read(in io.Reader) (*Request, error) {
	r := &Request{}
	err := document.Read(in, MaxSize, r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the repair request: %w", err)
	}
	return r, nil
}

func (r *Request) check() error {
	if err := (document.Head{Kind: r.Kind, Version: r.Version, Name: r.Name}).Check(kind, version); err != nil {
		return err
	}
	switch {
	case r.Sequence < 1 || r.Sequence > document.MaxSequence:
		return fmt.Errorf("sequence %d", r.Sequence)
	case len(r.Content) == 0 && !r.PlanLost:
		return errors.New("it asks for nothing")
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

// Write writes the request, which need not have kind and version yet. The same
// request gives the same bytes.
func (r *Request) Write(out io.Writer) error {
	r.Kind, r.Version = kind, version
	if r.Content == nil {
		r.Content = []Content{}
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("writing the repair request: %w", err)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}
