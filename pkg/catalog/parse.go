package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFile is longer than a whole public index in one file.
const maxFile = 4 << 30

// A parser turns one file into metas. What is wrong with the content becomes a
// problem; only what r itself reports ends parsing with an error.
type parser struct {
	options  Options
	out      *parsed
	frames   framer
	scan     scanner
	outlines outliner
	// each, if not nil, is given the objects that are kept, instead of out. It
	// ends parsing with an error, which is then here.
	each func(*Meta) error
	err  error
}

func newParser(options Options) *parser {
	return &parser{options: options}
}

// parse reads a file of JSON objects or YAML documents. Like OLM it goes by the
// first character; beyond OLM it also takes JSON objects with --- between them,
// and keeps the bytes of JSON objects within a YAML stream.
func (p *parser) parse(r io.Reader) error {
	if p.options.Outline || p.options.Shed != nil {
		p.outlines.reset()
	}
	limited := &limitedReader{r: r, left: maxFile}
	f := &p.frames
	f.reset(limited)
	for first := true; ; first = false {
		c, err := f.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return p.stopped(err, f.line)
		}
		if first && c == bom[0] {
			if c, err = f.skipBOM(); err == io.EOF {
				return nil
			} else if err != nil {
				return p.stopped(err, f.line)
			}
		}
		if c != '{' {
			return p.yaml(f.rest(), f.line, !first)
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

// stopped sorts an error that ends a file into those of the content, which
// become a problem, and those of reading, which are returned.
func (p *parser) stopped(err error, line int) error {
	if errors.Is(err, errTooLong) || errors.Is(err, errFileTooLong) {
		p.problem(line, "%v; if the file is not part of the catalog, name it in %s", err, IgnoreFile)
		return nil
	}
	return err
}

func (p *parser) problem(line int, format string, args ...any) {
	p.out.problems = append(p.out.problems, Problem{
		File: p.out.path, Line: line, Message: fmt.Sprintf(format, args...),
	})
}

// object takes one JSON object that was cut out of the file, and reports whether
// what follows it can be read.
func (p *parser) object(text []byte, line int) bool {
	id, err := p.scan.identity(text)
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		at := min(int(syntax.ByteOffset), len(text))
		p.problem(line+bytes.Count(text[:at], []byte{'\n'}),
			"the JSON is broken: %v; mend the file, or name it in %s if it is not part of the catalog", syntax.Err, IgnoreFile)
		return false
	}
	p.keep(id, err, line, text)
	return p.err == nil
}

// keep adds an object, if it is wanted. It holds on to nothing of text.
func (p *parser) keep(id identity, err error, line int, text []byte) {
	if err != nil {
		p.problem(line, "%v", err)
		return
	}
	m := &Meta{Schema: id.schema, Package: id.pkg, Name: id.name, File: p.out.path, Line: line}
	if m.Schema == "" {
		p.problem(line, "the object has no schema; add one (%s, %s, ...), or name the file in %s if it is not part of the catalog",
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
	if p.options.Shed != nil {
		content, err := p.outlines.shed(m, text, p.options.Shed)
		if err != nil {
			p.problem(m.Line, "%s: %v", describe(m), err)
			return
		}
		p.out.shed = append(p.out.shed, content)
		return
	}
	m.Raw = bytes.Clone(text)
	if p.each != nil {
		p.err = p.each(m)
		return
	}
	p.out.metas = append(p.out.metas, m)
}

// outline adds what an outline has of an object.
func (p *parser) outline(m *Meta, text []byte) {
	content, ok, err := p.outlines.outline(m, text)
	if err != nil {
		p.problem(m.Line, "%s: %v", describe(m), err)
	} else if ok {
		p.out.outlined = append(p.out.outlined, content)
	}
}

// bom is what some editors put before UTF-8 text.
var bom = []byte("\ufeff")

// skipBOM steps over a byte order mark, if there is one, and what next skips.
func (f *framer) skipBOM() (byte, error) {
	for f.end-f.start < len(bom) {
		if err := f.fill(); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
	}
	if bytes.HasPrefix(f.buf[f.start:f.end], bom) {
		f.start += len(bom)
	}
	return f.next()
}

var errFileTooLong = errors.New("the file is larger than 4 GiB")

// A limitedReader fails when there is more to read than is left.
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
