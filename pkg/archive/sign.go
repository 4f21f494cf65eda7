package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Sign signs a complete set in a folder. Nothing else of it changes. If the set has another digest,
// Sign returns an error.
func Sign(ctx context.Context, dir string, set state.SetRef, sign func(ctx context.Context, manifest io.Reader) (signature []byte, err error)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("signing the archive in %s: %w", dir, err)
	}
	s, _, err := readSet(root, set.Sequence)
	if err == nil {
		w := &Writer{dir: dir, opts: Options{Sign: sign}, packing: &packing{set: s}}
		err = w.sign(ctx, durable.Folder{Root: root}, set.Set)
	}
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("signing the archive in %s: %w", dir, err)
	}
	return nil
}
