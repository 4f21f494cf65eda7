package state

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// Write writes the record as JSON with a line for every image. At most one image is in memory as
// text.
func (r *Record) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	_, _ = out.WriteString("{\"images\": [\n") // Flush returns the first error
	for i := range r.Images {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if err := enc.Encode(&r.Images[i]); err != nil {
			return fmt.Errorf("writing the record of the mirror: %w", err)
		}
	}
	_, _ = out.WriteString("]")
	rest := *r
	rest.Names = append([]resources.CatalogName{}, r.Names...) // not null
	for _, f := range rest.fields() {
		if f.omit {
			continue
		}
		_, _ = out.WriteString(", \"" + f.name + "\": ")
		if err := enc.Encode(f.value); err != nil {
			return fmt.Errorf("writing the record of the mirror: %w", err)
		}
	}
	_, _ = out.WriteString("}")
	return out.Flush()
}

// A recordField is a field of a record, as it is read and written; omit leaves it out.
type recordField struct {
	name  string
	value any // a pointer
	omit  bool
}

// fields returns the fields besides the images.
func (r *Record) fields() []recordField {
	return []recordField{
		{"catalogs", &r.Catalogs, false}, {"releases", &r.Releases, false}, {"graphData", &r.GraphData, false}, {"updates", &r.Updates, false},
		{"selections", &r.Selections, false}, {"names", &r.Names, false}, {"turn", &r.Runs, false},
		{"imagePolicies", &r.ImagePolicies, len(r.ImagePolicies) == 0}, {"format", &r.Format, r.Format == ""}, {"clusters", &r.Clusters, r.Clusters == nil},
	}
}

// readRecord reads a record from the next value of dec, one image at a time. It ignores unknown
// fields.
func readRecord(dec *json.Decoder) (Record, error) {
	var r Record
	if err := expect(dec, '{'); err != nil {
		return r, err
	}
	fields := r.fields()
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return r, err
		}
		var to any = &json.RawMessage{} // unknown
		if i := slices.IndexFunc(fields, func(f recordField) bool { return f.name == name }); i >= 0 {
			to = fields[i].value
		}
		if name == "images" {
			err = r.readImages(dec)
		} else {
			err = dec.Decode(to)
		}
		if err != nil {
			return r, err
		}
	}
	if r.Names == nil {
		r.nameAsBefore()
	}
	return r, expect(dec, '}')
}

// nameAsBefore sets the names that catalogs have in a record of a version that saved no names.
func (r *Record) nameAsBefore() {
	for i := range r.Catalogs {
		if n, err := r.Catalogs[i].HashedName(); err == nil { // an invalid source is an error in the next run
			r.Names = append(r.Names, n)
		}
	}
}

func (r *Record) readImages(dec *json.Decoder) error {
	switch t, err := dec.Token(); {
	case err != nil:
		return err
	case t == nil: // null
		return nil
	case t != json.Delim('['):
		return fmt.Errorf("images is %v and not a list", t)
	}
	for dec.More() {
		var img resources.Image
		if err := dec.Decode(&img); err != nil {
			return err
		}
		if n := len(r.Images); n > 0 {
			ShareTexts(&img, &r.Images[n-1])
		}
		r.Images = append(r.Images, img)
	}
	return expect(dec, ']')
}

// ShareTexts makes equal strings of an image and of its predecessor share memory. Mostly, both are
// in the same repository.
func ShareTexts(img, before *resources.Image) {
	for _, s := range []struct{ to, from *string }{
		{&img.Source.Host, &before.Source.Host}, {&img.Source.Path, &before.Source.Path}, {&img.Source.Tag, &before.Source.Tag},
		{&img.Mirror.Host, &before.Mirror.Host}, {&img.Mirror.Path, &before.Mirror.Path}, {&img.Mirror.Tag, &before.Mirror.Tag},
		{&img.Kind, &before.Kind},
	} {
		if *s.to == *s.from {
			*s.to = *s.from
		}
	}
	if img.Mirror.Digest == img.Source.Digest {
		img.Mirror.Digest = img.Source.Digest
	}
}

func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err == nil && t != want {
		err = fmt.Errorf("found %v in place of %v", t, want)
	}
	return err
}
