package installed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// The limits on what is read. A cluster with 100 operators in 1,000 namespaces
// prints some 100 MB of ClusterServiceVersions without the copies. YAML has to be
// held as a whole, so less of it is taken.
const (
	maxJSON = 256 << 20
	maxYAML = 32 << 20
)

// wanted is what an input should be, for messages.
const wanted = "what is wanted is the output of `oc get csv -A -o json`, `oc get subscriptions.operators.coreos.com -A -o json`, `oc get clusterextension -o json` or `oc get clusterversion -o json`"

// Read reads what clusters run from an input of at most 256 MiB of JSON or 32 MiB
// of YAML: the operators, as [Merge] makes a list of them, and the releases of the
// platform, in the order of the input. One of the two is not empty. The name of the
// file is for messages.
//
// The error says what is wrong with the input: that it is neither JSON nor YAML,
// holds objects of other kinds, or that nothing is installed.
func Read(name string, r io.Reader) ([]Operator, []ClusterVersion, error) {
	f := &file{name: name, others: map[string]int{}}
	in := bufio.NewReaderSize(r, 64<<10)
	err := f.read(in)
	if err == nil {
		err = f.judge()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading what is installed from %s: %w", name, err)
	}
	return Merge(f.operators()), f.clusters, nil
}

// read takes every object of the input, whatever its form.
func (f *file) read(in *bufio.Reader) error {
	first, err := begin(in)
	switch {
	case err == io.EOF:
		return fmt.Errorf("it is empty; %s", wanted)
	case err != nil:
		return err
	case first == '{':
		return f.json(&limited{r: in, left: maxJSON, message: fmt.Sprintf("it has more than %d MiB; leave out what is not needed, or give the namespaces in several files", maxJSON>>20)})
	}
	text, err := io.ReadAll(&limited{r: in, left: maxYAML, message: fmt.Sprintf("it has more than %d MiB of YAML; print it with -o json, of which more is read", maxYAML>>20)})
	if err != nil {
		return err
	}
	return f.yaml(text)
}

// begin steps over blanks and a byte order mark to the first byte that counts.
func begin(in *bufio.Reader) (byte, error) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // they are in the buffer
	}
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, in.UnreadByte()
		}
	}
}

// A limited reader fails where more comes than is allowed.
type limited struct {
	r       io.Reader
	left    int64
	message string
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errors.New(l.message)
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errors.New(l.message)
	}
	return n, err
}

// json takes JSON objects one after the other.
func (f *file) json(r io.Reader) error {
	d := jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true))
	for {
		if d.PeekKind() == jsontext.KindInvalid {
			_, err := d.ReadToken()
			if err == io.EOF {
				return nil
			}
			return jsonError(err)
		}
		if err := f.value(d); err != nil {
			return jsonError(err)
		}
	}
}

// yaml takes YAML documents, which lines that begin with --- part.
func (f *file) yaml(text []byte) error {
	for line := 1; len(text) > 0; {
		document := text
		text = nil
		lines := bytes.Count(document, []byte("\n"))
		for at := 0; at < len(document); {
			end := bytes.IndexByte(document[at:], '\n') + 1
			if end == 0 {
				break
			}
			if next := document[at+end:]; separator(next) {
				document, text = document[:at+end], next[3:]
				lines = bytes.Count(document, []byte("\n"))
				break
			}
			at += end
		}
		document = bytes.TrimPrefix(document, []byte("---"))
		if err := f.document(document, line); err != nil {
			return err
		}
		line += lines
	}
	return nil
}

// separator reports whether a line that parts documents stands here.
func separator(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) && (len(text) == 3 || strings.IndexByte(" \t\r\n", text[3]) >= 0)
}

// document takes one YAML document, which begins on the given line.
func (f *file) document(text []byte, line int) error {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return fmt.Errorf("the YAML document that begins on line %d is broken: %s; %s", line, strings.TrimPrefix(err.Error(), "yaml: "), wanted)
	}
	if string(raw) == "null" {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	if err := f.value(d); err != nil {
		return fmt.Errorf("the YAML document that begins on line %d: %w", line, err)
	}
	return nil
}

// jsonError says in people's words what is wrong with JSON.
func jsonError(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends in the middle; was the file written and carried as a whole?")
	case errors.As(err, &syntax):
		return fmt.Errorf("the JSON is broken at byte %d: %w; %s", syntax.ByteOffset, syntax.Err, wanted)
	}
	return err
}
