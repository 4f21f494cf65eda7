package state

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

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
	type field struct {
		name  string
		value any
	}
	rest := []field{{"catalogs", r.Catalogs}, {"releases", r.Releases}, {"graphData", r.GraphData}, {"updates", r.Updates}, {"selections", r.Selections}, {"names", nonNil(r.Names)}, {"turn", r.Runs}}
	if len(r.ImagePolicies) > 0 {
		rest = append(rest, field{"imagePolicies", r.ImagePolicies})
	}
	if r.Format != "" {
		rest = append(rest, field{"format", r.Format})
	}
	if r.Clusters != nil {
		rest = append(rest, field{"clusters", r.Clusters})
	}
	for _, field := range rest {
		_, _ = out.WriteString(", \"" + field.name + "\": ")
		if err := enc.Encode(field.value); err != nil {
			return fmt.Errorf("writing the record of the mirror: %w", err)
		}
	}
	_, _ = out.WriteString("}")
	return out.Flush()
}

// readRecord reads a record from the next value of dec, one image at a time. It ignores unknown
// fields.
func readRecord(dec *json.Decoder) (Record, error) {
	var r Record
	if err := expect(dec, '{'); err != nil {
		return r, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return r, err
		}
		var unknown json.RawMessage
		switch name {
		case "images":
			err = r.readImages(dec)
		case "catalogs":
			err = dec.Decode(&r.Catalogs)
		case "releases":
			err = dec.Decode(&r.Releases)
		case "graphData":
			err = dec.Decode(&r.GraphData)
		case "updates":
			err = dec.Decode(&r.Updates)
		case "selections":
			err = dec.Decode(&r.Selections)
		case "names":
			err = dec.Decode(&r.Names)
		case "imagePolicies":
			err = dec.Decode(&r.ImagePolicies)
		case "format":
			err = dec.Decode(&r.Format)
		case "clusters":
			err = dec.Decode(&r.Clusters)
		case "turn":
			err = dec.Decode(&r.Runs)
		default:
			err = dec.Decode(&unknown)
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

// nonNil returns a list that is not null in JSON.
func nonNil[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
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
