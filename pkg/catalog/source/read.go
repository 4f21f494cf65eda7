package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
)

// Read reads the catalog, or the part of it that options want. A bundle is read
// as a catalog that holds nothing else, which OLM would not take.
func (s *Source) Read(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
	read := s.translate
	switch {
	case s.Kind == FileBased && s.Image != nil:
		read = s.Image.Read
	case s.Kind == FileBased:
		read = func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
			return catalog.Read(ctx, s.fsys, options)
		}
	}
	if s.Image != nil && s.Kind != Bundle && s.from.Snapshots != nil && options.Shed == nil {
		inner := read
		read = func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
			return s.kept(ctx, options, inner)
		}
	}
	c, err := read(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reading catalog %s: %w", s.Name, err)
	}
	return c, nil
}

// translate reads what is not a file-based catalog as the one that it is turned
// into, so that options mean the same for it.
func (s *Source) translate(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.objects(ctx, func(m *catalog.Meta) error {
			if _, err := in.Write(m.Raw); err != nil { // not appended to: it is the object's own
				return err
			}
			_, err := in.Write([]byte{'\n'})
			return err
		})
		in.CloseWithError(err) // nil ends the text
		done <- err
	}()
	r := catalog.NewReader(options)
	err := r.File(string(s.Kind), out)
	if err != nil {
		cancel(err)
	}
	out.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if writing := <-done; writing != nil && err == nil {
		err = writing
	}
	if err != nil {
		return nil, err
	}
	return r.Catalog()
}

// Stream gives every object of the catalog to each, one after the other in an
// order that is always the same, and holds none of them. It ends with the first
// error of each.
func (s *Source) Stream(ctx context.Context, each func(*catalog.Meta) error) error {
	stream := s.objects
	switch {
	case s.Kind == FileBased && s.Image != nil:
		stream = s.Image.Stream
	case s.Kind == FileBased:
		stream = func(ctx context.Context, each func(*catalog.Meta) error) error {
			return catalog.Stream(ctx, s.fsys, each)
		}
	}
	if err := stream(ctx, each); err != nil {
		return fmt.Errorf("reading catalog %s: %w", s.Name, err)
	}
	return nil
}

// objects gives the objects of a database or a bundle.
func (s *Source) objects(ctx context.Context, each func(*catalog.Meta) error) (err error) {
	if s.Kind == Bundle {
		m, err := s.bundle(ctx)
		if err != nil {
			return err
		}
		return each(m)
	}
	var db io.ReadCloser
	if s.Image != nil {
		db, err = s.Image.Database(ctx)
	} else {
		db, err = s.fsys.Open(s.file)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return s.from.Database(ctx, db, each)
}

func (s *Source) bundle(ctx context.Context) (*catalog.Meta, error) {
	files, ref := s.fsys, ""
	if s.Image != nil {
		var err error
		if files, err = s.Image.Files(ctx); err != nil {
			return nil, err
		}
		ref = s.Name
	}
	b, err := bundle.Read(files)
	if err != nil {
		return nil, err
	}
	if s.from.Warn != nil {
		for _, text := range b.Warnings {
			s.from.Warn(text)
		}
	}
	return b.Meta(ref, bundle.Excerpt)
}
