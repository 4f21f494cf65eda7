package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFile is larger than a whole public index in one file.
const maxFile = 4 << 30

// A parser splits one file into metas. Wrong content becomes a problem; only read errors end
// parsing with an error.
type parser struct {
	options  Options
	out      *parsed
	frames   framer
	scan     scanner
	outlines outliner
	pack     *packer // not nil with Options.Pack
	// each, if not nil, receives the kept objects instead of out. Its error ends parsing and is
	// stored in err.
	each func(*Meta) error
	err  error
}

func newParser(options Options) *parser {
	return &parser{options: options}
}

// begin starts a file.
func (p *parser) begin(name string) {
	p.out = &parsed{path: name}
	p.outlines.reset()
}

// end returns the content of the file.
func (p *parser) end() *parsed {
	if p.pack != nil {
		p.pack.flush()
	}
	return p.out
}

// addAll adds objects that were read before.
func (p *parser) addAll(metas iter.Seq2[*Meta, error]) error {
	for m, err := range metas {
		if err != nil {
			return err
		}
		if p.options.wants(m.Package) {
			p.add(m)
		}
	}
	return nil
}

// parse reads a file of JSON objects or YAML documents. Like OLM it decides by the first character,
// and once more after the first JSON object. White space alone is an error, as in OLM. Beyond OLM it
// keeps the bytes of JSON objects within a YAML stream.
func (p *parser) parse(r io.Reader) error {
	limited := &limitedReader{r: r, left: maxFile}
	f := &p.frames
	f.reset(limited)
	for n := 0; ; n++ {
		var space []byte
		var c byte
		var err error
		from := f.line
		if n < 2 {
			space, c, err = f.space()
		} else {
			c, err = f.next()
		}
		switch {
		case err == io.EOF && n == 0 && len(space) > 0:
			p.problem(1, "the file has only white space; delete it, or list it in %s", IgnoreFile)
			return nil
		case err == io.EOF:
			return nil
		case err != nil:
			return p.stopped(err, f.line)
		case c != '{' && n > 1:
			p.problem(f.line, "after two JSON objects OLM expects only JSON objects, without --- or comments between them; "+
				"fix the file, or list it in %s if it is not part of the catalog", IgnoreFile)
			return nil
		case c != '{':
			if n == 1 { // OLM skips the rest of the object's last line
				_, space, _ = bytes.Cut(space, []byte("\n"))
				from = f.line - bytes.Count(space, []byte("\n"))
			}
			return p.yaml(io.MultiReader(bytes.NewReader(space), f.rest()), from)
		}
		text, line, err := f.object()
		if err != nil {
			return p.stopped(err, line)
		}
		if !p.object(text, line) {
			return nil
		}
	}
}

// stopped turns errors about the content into problems, and returns read errors.
func (p *parser) stopped(err error, line int) error {
	if errors.Is(err, errTooLong) || errors.Is(err, errFileTooLong) {
		p.problem(line, "%v; if the file is not part of the catalog, list it in %s", err, IgnoreFile)
		return nil
	}
	return err
}

func (p *parser) problem(line int, format string, args ...any) {
	p.out.problems = append(p.out.problems, Problem{
		File: p.out.path, Line: line, Message: fmt.Sprintf(format, args...),
	})
}

// object adds one JSON object of the file. It reports whether the rest of the file can be read.
func (p *parser) object(text []byte, line int) bool {
	id, err := p.scan.identity(text)
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		at := min(int(syntax.ByteOffset), len(text))
		p.problem(line+bytes.Count(text[:at], []byte{'\n'}),
			"invalid JSON: %v; fix the file, or list it in %s if it is not part of the catalog", syntax.Err, IgnoreFile)
		return false
	}
	p.keep(id, err, line, text)
	return p.err == nil
}

// keep adds an object unless it is excluded. It keeps no reference to text.
func (p *parser) keep(id identity, err error, line int, text []byte) {
	if err != nil {
		p.problem(line, "%v", err)
		return
	}
	m := &Meta{Schema: id.schema, Package: id.pkg, Name: id.name, File: p.out.path, Line: line}
	if m.Schema == "" {
		p.problem(line, "the object has no schema; add one (%s, %s, ...), or list the file in %s if it is not part of the catalog",
			SchemaPackage, SchemaBundle, IgnoreFile)
		return
	}
	if m.Schema == SchemaPackage {
		m.Package = m.Name
	}
	if !p.options.wants(m.Package) {
		if m.Schema == SchemaPackage {
			p.out.names = append(p.out.names, m.Name)
		}
		if p.options.Outline {
			p.outline(m, text)
		}
		return
	}
	if p.dropsText(m.Schema) {
		m.Raw = text
	} else {
		m.Raw = bytes.Clone(text)
	}
	if p.each != nil {
		p.err = p.each(m)
		return
	}
	p.add(m)
}

// dropsText reports whether the text of an object is not kept as it is.
func (p *parser) dropsText(schema string) bool {
	return p.options.DropText != nil || p.pack != nil && schema == SchemaBundle
}

// add adds an object. It keeps a reference to its text only if the text is kept.
func (p *parser) add(m *Meta) {
	if !p.dropsText(m.Schema) {
		p.out.metas = append(p.out.metas, m)
		return
	}
	bare := *m
	bare.Raw = nil
	see := p.options.DropText
	if see == nil {
		see = func(*Bundle) {}
	}
	content, err := p.outlines.withoutText(&bare, m.Raw, see)
	if err != nil {
		p.out.problems = append(p.out.problems, Problem{File: m.File, Line: m.Line, Message: fmt.Sprintf("%s: %v", describe(m), err)})
		return
	}
	if p.options.DropText == nil {
		bare.Packed = p.pack.add(m.Raw)
	}
	p.out.withoutText = append(p.out.withoutText, content)
}

// outline adds the outline of an object.
func (p *parser) outline(m *Meta, text []byte) {
	content, ok, err := p.outlines.outline(m, text)
	if err != nil {
		p.problem(m.Line, "%s: %v", describe(m), err)
	} else if ok {
		p.out.outlined = append(p.out.outlined, content)
	}
}

var errFileTooLong = errors.New("the file is larger than 4 GiB")

// A limitedReader fails if there is more to read than left.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, errFileTooLong
	}
	return n, err
}
