package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"
)

// maxPlan is the largest plan that is read, in bytes: many times what 50,000
// images need.
const maxPlan = 1 << 30

// maxAhead is for how many entries of a list room is made before they are read;
// what a plan says of itself is not relied on for more.
const maxAhead = 1 << 16

// Read reads what Write wrote, an entry at a time. Unknown fields, another kind
// or version, and content that the plan refers to but does not hold are errors.
// known are digests that the caller holds anyway: the plan shares their text.
func Read(r io.Reader, known ...iter.Seq[digest.Digest]) (*Plan, error) {
	limited := &io.LimitedReader{R: r, N: maxPlan + 1}
	d := &decoder{p: &Plan{}, seen: map[string]bool{}, same: map[string]string{}}
	for _, digests := range known {
		for text := range digests {
			d.same[string(text)] = string(text)
		}
	}
	err := d.plan(jsontext.NewDecoder(limited))
	if limited.N == 0 {
		err = fmt.Errorf("it is larger than %d MiB", maxPlan>>20)
	}
	if err == nil {
		err = d.p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("reading plan: %w", err)
	}
	return d.p, nil
}

// A decoder reads the JSON of a plan.
type decoder struct {
	p    *Plan
	seen map[string]bool // the fields read so far
	// same is one copy of every text that may be there many times.
	same map[string]string
}

// plan reads the whole text. Another kind or version explains whatever else is
// wrong, so that no field is looked into before both are known. A plan as it is
// written begins with them; what an editor has put before them waits.
func (d *decoder) plan(dec *jsontext.Decoder) error {
	if t, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	} else if t.Kind() != '{' {
		return notJSON(errors.New("it is no object"))
	}
	waiting := map[string]jsontext.Value{}
	for more(dec) {
		t, err := dec.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		name := t.String()
		if d.seen[name] {
			return fmt.Errorf("it has the field %q twice", name)
		}
		d.seen[name] = true
		if name == "kind" || name == "version" || d.seen["kind"] && d.seen["version"] {
			err = d.field(name, dec)
		} else {
			var text jsontext.Value
			text, err = dec.ReadValue()
			waiting[name], err = text.Clone(), notJSON(err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	}
	if err := cmp.Or(d.p.checkKind(), d.p.checkVersion()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		if err := d.field(name, jsontext.NewDecoder(bytes.NewReader(waiting[name]))); err != nil {
			return err
		}
	}
	switch _, err := dec.ReadToken(); {
	case err == nil || errors.As(err, new(*jsontext.SyntacticError)):
		return errors.New("there is more text after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// notJSON is what is said of text that is no plan at all.
func notJSON(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("it is not JSON, as gantry plan -o writes it (%w); a configuration is given with -c", err)
}

// field reads the value of a field of the plan.
func (d *decoder) field(name string, dec *jsontext.Decoder) error {
	p := d.p
	switch name {
	case "kind":
		return cmp.Or(decode(dec, &p.Kind), p.checkKind())
	case "version":
		return cmp.Or(decode(dec, &p.Version), p.checkVersion())
	case "name":
		return decode(dec, &p.Name)
	case "totals":
		return decode(dec, &p.Totals)
	case "archiveSize":
		return decode(dec, &p.ArchiveSize)
	case "catalogs":
		return decodeList(dec, &p.Catalogs, 0, nil)
	case "releases":
		return decodeList(dec, &p.Releases, 0, nil)
	case "updates":
		return decodeList(dec, &p.Updates, 0, nil)
	case "updateGraphs":
		return decodeList(dec, &p.UpdateGraphs, 0, nil)
	case "graphData":
		return decode(dec, &p.GraphData)
	case "images":
		return decodeList(dec, &p.Images, p.Totals.Images, d.image)
	case "missing":
		return decodeList(dec, &p.Missing, 0, func(m *Missing) { d.because(m.Because) })
	case "blocked":
		return decodeList(dec, &p.Blocked, 0, func(b *Blocked) { d.because(b.Because) })
	case "notes":
		return decodeList(dec, &p.Notes, 0, nil)
	case "manifests":
		return decodeList(dec, &p.Manifests, p.Totals.Manifests, d.manifest)
	case "blobs":
		return decodeList(dec, &p.Blobs, p.Totals.Blobs, func(b *Blob) { one(d, &b.Digest) })
	}
	return fmt.Errorf("it has the unknown field %q", name)
}

// more reports whether an object or a list goes on.
func more(dec *jsontext.Decoder) bool {
	k := dec.PeekKind()
	return k != '}' && k != ']' && k != 0
}

// decode reads a value; fields that it does not have are errors.
func decode(dec *jsontext.Decoder, v any) error {
	err := json.UnmarshalDecode(dec, v, json.RejectUnknownMembers(true))
	if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return notJSON(err)
	}
	return err
}

// decodeList reads an array of about so many entries, each of which is seen once.
func decodeList[T any](dec *jsontext.Decoder, list *[]T, about int, see func(*T)) error {
	switch t, err := dec.ReadToken(); {
	case err != nil:
		return notJSON(err)
	case t.Kind() == 'n': // null
		return nil
	case t.Kind() != '[':
		return fmt.Errorf("%v stands in place of a list", t)
	}
	*list = make([]T, 0, max(0, min(about, maxAhead)))
	for more(dec) {
		*list = append(*list, *new(T))
		last := &(*list)[len(*list)-1]
		if err := decode(dec, last); err != nil {
			return err
		}
		if see != nil {
			see(last)
		}
	}
	_, err := dec.ReadToken()
	return notJSON(err)
}

func (d *decoder) image(img *Image) {
	one(d, &img.Kind)
	one(d, &img.Catalog)
	if at := strings.LastIndexByte(img.Source, '@') + 1; at > 0 && img.Source[at:] == string(img.Digest) {
		img.Digest = digest.Digest(img.Source[at:]) // one text for both
	}
	one(d, &img.Digest)
	one(d, &img.Repository)
	d.because(img.Because)
	img.Tags, img.Because = fit(img.Tags), fit(img.Because)
}

// fit is the list without the room that is left behind it, which json leaves for
// more than most lists have.
func fit[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

func (d *decoder) because(all []Because) {
	for i := range all {
		b := &all[i]
		for _, s := range []*string{&b.Catalog, &b.Package, &b.Bundle, &b.Name, &b.List, &b.Release} {
			one(d, s)
		}
	}
}

func (d *decoder) manifest(m *Manifest) {
	one(d, &m.Digest)
	one(d, &m.MediaType)
	for i := range m.Manifests {
		one(d, &m.Manifests[i])
	}
	for i := range m.Blobs {
		one(d, &m.Blobs[i])
	}
	m.Manifests, m.Blobs = fit(m.Manifests), fit(m.Blobs)
}

// one puts the copy that all share in the place of a text.
func one[S ~string](d *decoder, s *S) { share(d.same, s) }
