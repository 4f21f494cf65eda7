package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
)

// Read reads the catalog, or the part of it that options select. A bundle is read as a catalog that
// contains nothing else, which OLM would not accept.
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
	if s.Image != nil && s.Kind != Bundle && s.from.Snapshots != nil && options.DropText == nil {
		inner := read
		read = func(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
			return s.readStored(ctx, options, inner)
		}
	}
	c, err := read(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reading catalog %s: %w", s.Name, err)
	}
	return c, nil
}

// translate converts a database or bundle to a file-based catalog and reads that, so that options
// have the same meaning.
func (s *Source) translate(ctx context.Context, options catalog.Options) (*catalog.Catalog, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.objects(ctx, func(m *catalog.Meta) error {
			if _, err := in.Write(m.Raw); err != nil { // two writes, since appending would modify the object
				return err
			}
			_, err := in.Write([]byte{'\n'})
			return err
		})
		in.CloseWithError(err) // a nil error ends the text
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

// Stream calls each for every object of the catalog, always in the same order, and keeps none of
// them. It ends with the first error of each.
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

// objects calls each for the objects of a database, bundle or template.
func (s *Source) objects(ctx context.Context, each func(*catalog.Meta) error) (err error) {
	switch s.Kind {
	case Template:
		metas, err := s.render(ctx)
		if err != nil {
			return err
		}
		for _, m := range metas {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	case Bundle:
		m, err := s.bundle(ctx)
		if err != nil {
			return err
		}
		return each(m)
	}
	if s.Image == nil {
		return s.from.Databases.StreamFile(ctx, s.fsys, s.file, each)
	}
	db, err := s.Image.Database(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return s.from.Databases.Stream(ctx, db, each)
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
	return b.Meta(ref)
}
