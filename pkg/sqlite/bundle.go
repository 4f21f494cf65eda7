package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
)

// A row is a row of table operatorbundle, without the manifests.
type row struct {
	id        int64
	image     string
	version   string
	skipRange string
	size      int64 // of the manifests, in bytes
}

// bundle returns the row of a bundle. It returns nil if the index does not have the bundle or has
// only its name, and if the bundle is deprecated, which OLM does not install.
func (x *index) bundle(ctx context.Context, name string) (*row, error) {
	var r row
	var deprecated bool
	err := x.conn.QueryRowContext(ctx, `
		SELECT row, coalesce(image, ''), version, coalesce(skiprange, ''), coalesce(size, 0),
			EXISTS (SELECT 1 FROM temp.facts WHERE bundle = name AND sort = ? AND type = 'olm.deprecated')
		FROM temp.bundles
		WHERE name = ? AND version IS NOT NULL AND (image IS NOT NULL OR size > 0)
		ORDER BY row LIMIT 1`, factProperty, name).
		Scan(&r.id, &r.image, &r.version, &r.skipRange, &r.size, &deprecated)
	if errors.Is(err, sql.ErrNoRows) || err == nil && deprecated {
		return nil, nil
	}
	if err == nil {
		err = text(r.image, r.version, r.skipRange)
	}
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", name, err)
	}
	return &r, nil
}

// bundleMeta returns the olm.bundle.
func (x *index) bundleMeta(ctx context.Context, pkg, name string, r *row) (*catalog.Meta, error) {
	b := catalog.Bundle{Package: pkg, Name: name, Image: r.image}
	m, err := x.manifests(ctx, r)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{"": true}
	for _, i := range m.csv.Spec.RelatedImages {
		if i.Image != "" {
			known[i.Image] = true
			b.RelatedImages = append(b.RelatedImages, catalog.RelatedImage(i))
		}
	}
	named := false
	if err := x.facts(ctx, name, func(sort int, kind string, value []byte) error {
		switch {
		case sort == factImage:
			if image := string(value); !known[image] {
				known[image] = true
				b.RelatedImages = append(b.RelatedImages, catalog.RelatedImage{Image: image})
				return text(image)
			}
			return nil
		case sort == factDependency:
			p, err := bundle.Requirement(kind, value)
			b.Properties = append(b.Properties, p)
			return err
		case kind == "olm.gvk":
			value, err = gvk(value)
			if err != nil {
				return err
			}
		case kind == "olm.package":
			named = true
		}
		b.Properties = append(b.Properties, catalog.Property{Type: kind, Value: value})
		return nil
	}); err != nil {
		return nil, err
	}
	if !named {
		value, err := json.Marshal(struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}{pkg, r.version})
		if err != nil {
			return nil, err
		}
		b.Properties = append(b.Properties, catalog.Property{Type: "olm.package", Value: value})
	}
	for _, o := range m.objects {
		b.Properties = append(b.Properties, bundle.Object(o))
	}
	return bundle.Encode(&b)
}

// facts calls f with the properties, dependencies and images of a bundle.
func (x *index) facts(ctx context.Context, name string, f func(sort int, kind string, value []byte) error) error {
	rows, err := x.conn.QueryContext(ctx, `
		SELECT DISTINCT sort, type, value FROM temp.facts
		WHERE bundle = ? AND type IS NOT NULL AND value IS NOT NULL ORDER BY sort, type, value`, name)
	if err != nil {
		return err
	}
	left := maxValues
	return scan(rows, func(row scanner) error {
		var sort int
		var kind string
		var value []byte
		if err := row.Scan(&sort, &kind, &value); err != nil {
			return err
		}
		if left -= len(kind) + len(value) + 64; left < 0 {
			return errors.New("the properties exceed the limit of 16 MiB")
		}
		if err := text(kind); err != nil {
			return err
		}
		return f(sort, kind, value)
	})
}

// gvk returns the value of an olm.gvk with the members of file-based catalogs.
func gvk(value []byte) ([]byte, error) {
	var v struct {
		Group   string `json:"group"`
		Kind    string `json:"kind"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, fmt.Errorf("reading property olm.gvk: %w", err)
	}
	return json.Marshal(v)
}
