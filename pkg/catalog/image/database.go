package image

import (
	"context"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// Database opens the database of an SQLite index, the file in label
// operators.operatorframework.io.index.database.v1, as the layers of linux/amd64 (or of the first
// platform) leave it. Its bytes are verified only when io.EOF was returned. The caller closes it.
func (i *Image) Database(ctx context.Context) (io.ReadCloser, error) {
	if err := i.mustBe(SQLite); err != nil {
		return nil, fmt.Errorf("reading the database of image %s: %w", i.image.Root.Digest, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	d := &database{PipeReader: out, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		err := i.copyDatabase(ctx, in)
		if err != nil {
			err = fmt.Errorf("reading the database of image %s: %w", i.image.Root.Digest, err)
		}
		in.CloseWithError(err) // nil becomes io.EOF
	}()
	return d, nil
}

// A database is the stream of a file that is read from the layers.
type database struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close stops reading and waits for its end.
func (d *database) Close() error {
	d.cancel()
	err := d.PipeReader.Close()
	<-d.done
	return err
}

// copyDatabase reads layers from the uppermost down until one has the file.
func (i *Image) copyDatabase(ctx context.Context, w io.Writer) error {
	p := i.image.Primary()
	v, left := image.NewView(), layers.NewBudget(layers.MaxUnpacked)
	given := false
	for _, layer := range p.TopDown() {
		l := &image.Lister{Budget: left} // all names of the image, since links can point anywhere
		l.File = func(name string, r io.Reader) error {
			if name != i.database || !v.Shows(name) {
				return nil
			}
			given = true
			_, err := io.Copy(w, r)
			return err
		}
		found, err := i.image.List(ctx, p, layer, l)
		if given || err != nil {
			return err
		}
		v.Add(layer, found)
	}
	if !v.HasFile(i.database) && !v.Linked(i.database) {
		return fmt.Errorf("there is no file /%s, the value of label %s", i.database, databaseLabel)
	}
	links := image.Links{Names: map[string][]string{i.database: {i.database}}}
	return i.image.ReadLinks(ctx, p, v, links, func(_ string, r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	}, left)
}
