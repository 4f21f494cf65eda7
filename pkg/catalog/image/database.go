package image

import (
	"context"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// Database gives the database of an SQLite index, the file that label
// operators.operatorframework.io.index.database.v1 names, as the layers of
// linux/amd64 (or of the first platform) leave it. What was read is only good
// when io.EOF has come: the layer is verified then. The caller closes it.
func (i *Image) Database(ctx context.Context) (io.ReadCloser, error) {
	if err := i.mustBe(SQLite); err != nil {
		return nil, fmt.Errorf("reading the database of image %s: %w", i.root.Digest, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	d := &database{PipeReader: out, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		err := i.copyDatabase(ctx, in)
		if err != nil {
			err = fmt.Errorf("reading the database of image %s: %w", i.root.Digest, err)
		}
		in.CloseWithError(err) // nil is the end of the file
	}()
	return d, nil
}

// A database is a file on its way out of the layers.
type database struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends reading, wherever it is.
func (d *database) Close() error {
	d.cancel()
	err := d.PipeReader.Close()
	<-d.done
	return err
}

// copyDatabase reads layers from the uppermost down, until one has the file.
func (i *Image) copyDatabase(ctx context.Context, w io.Writer) error {
	p := i.primary()
	v, left := newView(), layers.NewBudget(layers.MaxUnpacked)
	given := false
	for _, layer := range topDown(p) {
		l := &lister{dir: parent(i.database), left: left}
		l.file = func(name string, r io.Reader) error {
			if name != i.database || !v.shows(name, false) {
				return nil
			}
			given = true
			_, err := io.Copy(w, r)
			return err
		}
		found, err := i.list(ctx, p, layer, l, left)
		if given || err != nil {
			return err
		}
		v.add(layer, found)
	}
	if _, ok := v.visible[i.database]; !ok || v.visible[i.database].kind == directory {
		return fmt.Errorf("there is no file /%s, which label %s names", i.database, databaseLabel)
	}
	links := links{inside: parent(i.database), names: map[string][]string{i.database: {i.database}}}
	return i.readLinks(ctx, p, v, links, func(_ string, r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	}, left)
}
