package mirror

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// Write writes the holding as JSON with a line for every image. No more than one
// of them is held as text at a time.
func (h *Holding) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	_, _ = out.WriteString("{\"images\": [\n") // Flush tells
	for i := range h.Images {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if err := enc.Encode(&h.Images[i]); err != nil {
			return fmt.Errorf("writing what the mirror holds: %w", err)
		}
	}
	_, _ = out.WriteString("]")
	rest := []struct {
		name  string
		value any
	}{{"catalogs", h.Catalogs}, {"releases", h.Releases}, {"graphData", h.GraphData}, {"updates", h.Updates}, {"selections", h.Selections}, {"turn", h.Turn}}
	for _, field := range rest {
		_, _ = out.WriteString(", \"" + field.name + "\": ")
		if err := enc.Encode(field.value); err != nil {
			return fmt.Errorf("writing what the mirror holds: %w", err)
		}
	}
	_, _ = out.WriteString("}")
	return out.Flush()
}

// ReadHolding reads a holding from the next value of dec, an image at a time.
// Fields that it does not know are passed over.
func ReadHolding(dec *json.Decoder) (Holding, error) {
	var h Holding
	if err := expect(dec, '{'); err != nil {
		return h, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return h, err
		}
		var unknown json.RawMessage
		switch name {
		case "images":
			err = h.readImages(dec)
		case "catalogs":
			err = dec.Decode(&h.Catalogs)
		case "releases":
			err = dec.Decode(&h.Releases)
		case "graphData":
			err = dec.Decode(&h.GraphData)
		case "updates":
			err = dec.Decode(&h.Updates)
		case "selections":
			err = dec.Decode(&h.Selections)
		case "turn":
			err = dec.Decode(&h.Turn)
		default:
			err = dec.Decode(&unknown)
		}
		if err != nil {
			return h, err
		}
	}
	return h, expect(dec, '}')
}

func (h *Holding) readImages(dec *json.Decoder) error {
	switch t, err := dec.Token(); {
	case err != nil:
		return err
	case t == nil: // null
		return nil
	case t != json.Delim('['):
		return fmt.Errorf("images is %v and no list", t)
	}
	for dec.More() {
		var img resources.Image
		if err := dec.Decode(&img); err != nil {
			return err
		}
		if n := len(h.Images); n > 0 {
			shareTexts(&img, &h.Images[n-1])
		}
		h.Images = append(h.Images, img)
	}
	return expect(dec, ']')
}

// shareTexts puts the texts of the image before, which is mostly of the same
// repository, in the place of equal ones.
func shareTexts(img, before *resources.Image) {
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
		err = fmt.Errorf("%v stands in place of %v", t, want)
	}
	return err
}
