package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// maxAhead is the maximum number of entries that memory is allocated for before they are read,
// because the counts in a plan are not trusted.
const maxAhead = 1 << 16

// Read reads what Write wrote, entry by entry. Unknown fields, another kind or version, values that
// Write would not write, and references to content that the plan does not list are errors. known
// are digests that the caller keeps anyway: the plan shares their text.
func Read(r io.Reader, known ...iter.Seq[digest.Digest]) (*Plan, error) {
	return read(r, defaultLimits(), known...)
}

func read(r io.Reader, atMost limits, known ...iter.Seq[digest.Digest]) (*Plan, error) {
	text := newLimitedReader(r, atMost)
	d := &decoder{p: &Plan{}, text: text, seen: map[string]bool{}, same: map[string]string{}}
	for _, digests := range known {
		for text := range digests {
			d.same[string(text)] = string(text)
		}
	}
	err := d.plan(text.decoder)
	if text.err != nil {
		err = advice.Wrap(advice.Failure, text.err, "use a file written by gantry plan")
	}
	if err == nil {
		err = d.p.checkWhole()
	}
	if err != nil {
		return nil, fmt.Errorf("reading plan: %w", brief(err))
	}
	return d.p, nil
}

// A decoder reads the JSON of a plan.
type decoder struct {
	p    *Plan
	text *limitedReader
	seen map[string]bool // the fields read so far
	// same has one copy of each text that may occur many times.
	same map[string]string
}

// plan reads the whole text. Plans begin with kind and version, and another kind or version explains
// any other error. If an editor moved other fields before them, their errors wait until both are
// known.
func (d *decoder) plan(dec *jsontext.Decoder) error {
	if t, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	} else if t.Kind() != '{' {
		return notJSON(errors.New("it is not an object"))
	}
	var first error
	for more(dec) {
		t, err := dec.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		name := t.String()
		if d.seen[name] {
			return fmt.Errorf("it has the field %s twice", quoted(name))
		}
		d.seen[name] = true
		identifies := name == "kind" || name == "version"
		if first == nil || identifies {
			err = d.field(name, dec)
		}
		known := d.seen["kind"] && d.seen["version"]
		switch {
		case err != nil && (known || identifies || d.text.err != nil):
			return err
		case first != nil && known:
			return first
		case err != nil:
			first = err
		}
		if err := skipRest(dec); err != nil {
			return cmp.Or(first, notJSON(err))
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	}
	if err := cmp.Or(d.p.checkKind(), d.p.checkVersion(), first); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); {
	case err == nil || errors.As(err, new(*jsontext.SyntacticError)):
		return errors.New("there is more text after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// skipRest skips what an error left of the value of a field of the plan.
func skipRest(dec *jsontext.Decoder) error {
	for dec.StackDepth() > 1 {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
	}
	if _, n := dec.StackIndex(1); n%2 == 1 { // after the name
		return dec.SkipValue()
	}
	return nil
}

// notJSON wraps the error of text that is not a plan.
func notJSON(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok { // its text is about JSON, which people do not write by hand
		return advice.New(advice.Failure, "use a file that gantry plan --lock wrote", "it is not a plan in JSON: byte %d is wrong", syntax.ByteOffset+1)
	}
	return fmt.Errorf("it is not a plan in JSON, as gantry plan writes it: %w", err)
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
		return cmp.Or(decode(dec, &p.Name), p.checkName())
	case "totals":
		return decode(dec, &p.Totals)
	case "archiveSize":
		return cmp.Or(decode(dec, &p.ArchiveSize), p.checkArchiveSize())
	case "format":
		return cmp.Or(decode(dec, &p.Format), p.checkFormat())
	case "catalogs":
		return decodeList(d, dec, &p.Catalogs, 0, (*Catalog).check)
	case "releases":
		return decodeList(d, dec, &p.Releases, 0, (*Release).check)
	case "updates":
		return decodeList(d, dec, &p.Updates, 0, checkUpdate)
	case "updateGraphs":
		return decodeList(d, dec, &p.UpdateGraphs, 0, (*UpdateGraph).check)
	case "graphData":
		if err := decode(dec, &p.GraphData); err != nil {
			return err
		}
		return p.GraphData.check()
	case "tagRules":
		return decodeList(d, dec, &p.TagRules, 0, (*TagRule).check)
	case "signaturePolicy":
		return cmp.Or(decode(dec, &p.SignaturePolicy), p.checkPolicy())
	case "charts":
		return decodeList(d, dec, &p.Charts, 0, (*Chart).check)
	case "files":
		return decodeList(d, dec, &p.Files, 0, (*File).check)
	case "images":
		return decodeList(d, dec, &p.Images, p.Totals.Images, d.image)
	case "missing":
		return decodeList(d, dec, &p.Missing, 0, func(m *Missing) error { d.because(m.Reasons); return m.check() })
	case "blocked":
		return decodeList(d, dec, &p.Blocked, 0, func(b *Blocked) error { d.because(b.Reasons); return b.check() })
	case "notes":
		return decodeList(d, dec, &p.Notes, 0, checkNote)
	case "manifests":
		return decodeList(d, dec, &p.Manifests, p.Totals.Manifests, d.manifest)
	case "blobs":
		return decodeList(d, dec, &p.Blobs, p.Totals.Blobs, func(b *Blob) error { one(d, &b.Digest); return b.check() })
	}
	return advice.New(advice.Failure, newerPlan, "it has the unknown field %s", quoted(name))
}

// newerPlan is the hint for a plan with a field that this version does not know.
const newerPlan = "if a newer gantry made the plan, use that version; otherwise make the plan again"

// more reports whether an object or a list has more elements.
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
	if errors.Is(err, json.ErrUnknownName) {
		return advice.Wrap(advice.Failure, err, newerPlan)
	}
	return err
}

// decodeList reads an array of about so many entries, and calls see for each. It ends at the first
// error of see, so that entries which no plan has take no memory.
func decodeList[T any](d *decoder, dec *jsontext.Decoder, list *[]T, about int, see func(*T) error) error {
	switch t, err := dec.ReadToken(); {
	case err != nil:
		return notJSON(err)
	case t.Kind() == 'n': // null
		return nil
	case t.Kind() != '[':
		return fmt.Errorf("found %v, expected a list", t.Kind())
	}
	*list = make([]T, 0, max(0, min(about, maxAhead)))
	for more(dec) {
		*list = append(*list, *new(T))
		last := &(*list)[len(*list)-1]
		d.text.begin()
		if err := cmp.Or(decode(dec, last), see(last)); err != nil {
			return err
		}
	}
	d.text.begin()
	_, err := dec.ReadToken()
	return notJSON(err)
}

func (d *decoder) image(img *Image) error {
	one(d, &img.Kind)
	one(d, &img.Catalog)
	if at := strings.LastIndexByte(img.Source, '@') + 1; at > 0 && img.Source[at:] == string(img.Digest) {
		img.Digest = digest.Digest(img.Source[at:]) // one text for both
	}
	one(d, &img.Digest)
	one(d, &img.Repository)
	one(d, &img.ArtifactType)
	one(d, &img.PredicateType)
	d.because(img.Reasons)
	img.Tags, img.Reasons = fit(img.Tags), fit(img.Reasons)
	if n := len(d.p.Images); n > 1 && slices.Equal(d.p.Images[n-2].Reasons, img.Reasons) {
		img.Reasons = d.p.Images[n-2].Reasons
	}
	return img.check()
}

// fit returns the list without unused capacity, which json leaves in most short lists.
func fit[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

func (d *decoder) because(all []Reason) {
	for i := range all {
		b := &all[i]
		for _, s := range []*string{&b.Catalog, &b.Package, &b.Bundle, &b.Name, &b.List, &b.Rule, &b.Release, &b.Chart} {
			one(d, s)
		}
	}
}

func (d *decoder) manifest(m *Manifest) error {
	one(d, &m.Digest)
	one(d, &m.MediaType)
	for i := range m.Manifests {
		one(d, &m.Manifests[i])
	}
	for i := range m.Blobs {
		one(d, &m.Blobs[i])
	}
	m.Manifests, m.Blobs = fit(m.Manifests), fit(m.Blobs)
	return m.check()
}

// one replaces a text by the shared copy of it.
func one[S ~string](d *decoder, s *S) { Share(d.same, s) }
