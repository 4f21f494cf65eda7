package extract

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// ContentOptions says what Content extracts, and where to.
type ContentOptions struct {
	open.Options
	// Digest is the digest of a manifest, of a blob, or of the plan.
	Digest digest.Digest
	// To is the file to write. A regular file appears only when it is complete.
	To string
	// Output receives the content if To is empty.
	Output io.Writer
}

// Check returns an error if the digest is invalid. Content calls it.
func (o *ContentOptions) Check() error {
	if err := layout.CheckDigest(o.Digest); err != nil {
		return env.InputHint("give the complete digest, as gantry archive list --blobs prints it", "Options.Digest %q: %w", o.Digest, err)
	}
	return nil
}

// Content writes a manifest, a blob or the plan of an archive to a file or a stream. The content
// is compared with its digest; a stream may have received a part of it when that fails.
func Content(ctx context.Context, o ContentOptions) error {
	if err := o.Check(); err != nil {
		return err
	}
	e, done := o.Env.OrDefault()
	defer done()
	have, err := open.Archive(o.Options)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	env.Opened(e.Observer, have)
	body, size, err := airgap.OpenContent(ctx, have, o.Digest)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	if o.To == "" {
		_, err := io.Copy(o.Output, body)
		return err
	}
	return writeContent(o.To, body, size)
}

// writeContent writes size bytes to the file that ContentOptions.To names.
func writeContent(to string, body io.Reader, size int64) error {
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return env.InputHint("name a file", "Options.To %s is a folder", to)
	}
	file, regular, err := durable.Resolve(to)
	if err != nil {
		return env.Inputf("Options.To %s: %w", to, err)
	}
	if regular {
		if err := pull.RefuseLink(to, file); err != nil {
			return err
		}
		if err := space.Check(filepath.Dir(file), size); err != nil {
			return err
		}
	}
	err = durable.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return env.Inputf("Options.To: %w", err)
	}
	return err
}
