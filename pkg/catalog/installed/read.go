package installed

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// Limits of the input. A cluster with 100 operators in 1,000 namespaces prints about 100 MB of
// ClusterServiceVersions without the copies. YAML has to be kept in memory, so its limit is lower.
const (
	maxJSON = 256 << 20
	maxYAML = 32 << 20
)

// wanted describes the supported input in messages.
const wanted = "the input must be the output of `oc get csv -A -o json`, `oc get subscriptions.operators.coreos.com -A -o json`, `oc get clusterextension -o json` or `oc get clusterversion,clusteroperators -o json`, also with `oc get operatorconditions -A -o json`"

// Read reads what clusters run from an input of at most 256 MiB of JSON or 32 MiB of YAML: the
// operators, merged as by [Merge], and the releases of the platform, in the order of the input. At
// least one of the two is not empty, unless the input has objects with conditions. The name of the file
// is for messages.
//
// The error says what is wrong with the input: it is neither JSON nor YAML, has objects of other
// kinds, or nothing is installed.
func Read(name string, r io.Reader) (*Cluster, error) {
	f, err := readFile(name, r)
	if err == nil {
		err = f.checkContent()
	}
	if err != nil {
		return nil, readError(name, err)
	}
	return f.cluster(), nil
}

// ReadCluster is Read for everything in the input: an input may also have nothing but catalogs and
// mirror sets.
func ReadCluster(name string, r io.Reader) (*Cluster, error) {
	f, err := readFile(name, r)
	if err == nil && len(f.catalogs)+len(f.mirrors) == 0 {
		err = f.checkContent()
	}
	if err != nil {
		return nil, readError(name, err)
	}
	return f.cluster(), nil
}

func (f *file) cluster() *Cluster {
	return &Cluster{Operators: Merge(f.operators()), Versions: f.clusters, Catalogs: f.catalogs, Mirrors: f.mirrors, Conditions: f.conditions}
}

func readFile(name string, r io.Reader) (*file, error) {
	f := &file{name: name, others: map[string]int{}}
	return f, f.read(bufio.NewReaderSize(r, 64<<10))
}

func readError(name string, err error) error {
	return fmt.Errorf("reading what is installed from %s: %w", name, err)
}

// read reads every object of the input, in either format.
func (f *file) read(in *bufio.Reader) error {
	first, err := begin(in)
	switch {
	case err == io.EOF:
		return fmt.Errorf("it is empty; %s", wanted)
	case err != nil:
		return err
	case first == '{':
		return f.json(&limited{r: in, left: maxJSON, message: fmt.Sprintf("it has more than %d MiB; remove other objects, or split the namespaces into several files", maxJSON>>20)})
	}
	text, err := io.ReadAll(&limited{r: in, left: maxYAML, message: fmt.Sprintf("it has more than %d MiB of YAML; print it with -o json, which has a higher limit", maxYAML>>20)})
	if err != nil {
		return err
	}
	return f.yaml(text)
}

// begin skips white space and a byte order mark, and returns the first other byte.
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

// A limited reader returns an error if the input is longer than allowed.
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

// json reads consecutive JSON objects.
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

// yaml reads YAML documents, which are separated by lines that begin with ---.
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

// separator reports whether text begins with a line that separates documents.
func separator(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) && (len(text) == 3 || strings.IndexByte(" \t\r\n", text[3]) >= 0)
}

// document reads one YAML document, which begins on the given line.
func (f *file) document(text []byte, line int) error {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return fmt.Errorf("the YAML document that begins on line %d is invalid: %s; %s", line, strings.TrimPrefix(err.Error(), "yaml: "), wanted)
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

// jsonError explains what is wrong with JSON.
func jsonError(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends early; check that the file is complete")
	case errors.As(err, &syntax):
		return fmt.Errorf("the JSON is invalid at byte %d: %w; %s", syntax.ByteOffset, syntax.Err, wanted)
	}
	return err
}

// take adds the operator or cluster of an object of a supported kind, and counts other objects.
func (f *file) take(o object) error {
	if f.taken++; f.taken > maxObjects {
		return fmt.Errorf("it has more than %d objects; %s", maxObjects, wanted)
	}
	var r record
	var counts bool
	var err error
	switch {
	case o.Kind == kindCSV && o.group() == groupClassic:
		r, counts, err = clusterServiceVersion(o)
	case o.Kind == kindSubscription && o.group() == groupClassic:
		r, counts, err = subscription(o)
	case o.Kind == kindExtension && o.group() == groupV1:
		r, counts, err = clusterExtension(o)
	case o.Kind == kindClusterVersion && o.group() == groupConfig:
		f.seen++
		clusters, err := clusterVersions(f.name, o)
		f.clusters = append(f.clusters, clusters...)
		return cmp.Or(err, f.takeCondition(o))
	case o.Kind == kindOperatorCondition && o.group() == groupClassic, o.Kind == kindClusterOperator && o.group() == groupConfig:
		f.seen++
		f.judged++
		return f.takeCondition(o)
	default:
		if err := f.takeSource(o); err != nil {
			return err
		}
		f.others[strings.TrimSpace(fmt.Sprintf("%s of %s", orUnknown(o.Kind), orUnknown(o.APIVersion)))]++
		return nil
	}
	f.seen++
	if err != nil || !counts {
		return err
	}
	r.Origin = fmt.Sprintf("%s: %s %s", f.name, o.Kind, o.title())
	r.file = f.name
	f.found = append(f.found, r)
	return nil
}

// value reads one JSON value: an object, or a list whose objects are processed one by one.
func (f *file) value(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return fmt.Errorf("it does not contain Kubernetes objects; print them with -o json: %s", wanted)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var o object
	var list bool
	var kindless []object
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "apiVersion":
			err = decode(d, &o.APIVersion)
		case "kind":
			err = decode(d, &o.Kind)
		case "metadata":
			err = decode(d, &o.Metadata)
		case "spec":
			err = decode(d, &o.Spec)
		case "status":
			err = decode(d, &o.Status)
		case "items":
			list = true
			kindless, err = f.items(d)
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if !list {
		return f.take(o)
	}
	f.lists++
	// The objects of a list of one kind, as the API returns it, have no kind. The list has it,
	// often after the items.
	for _, item := range kindless {
		item.Kind, item.APIVersion = strings.TrimSuffix(o.Kind, "List"), o.APIVersion
		if err := f.take(item); err != nil {
			return err
		}
	}
	return nil
}

// items processes the objects of a list that have a kind, and returns the others.
func (f *file) items(d *jsontext.Decoder) (kindless []object, err error) {
	switch d.PeekKind() {
	case jsontext.KindNull:
		return nil, d.SkipValue()
	case jsontext.KindBeginArray:
	default:
		return nil, errors.New("the items of a list are not a list")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		var o object
		if err := decode(d, &o); err != nil {
			return nil, err
		}
		if o.Kind == "" {
			kindless = append(kindless, o)
		} else if err := f.take(o); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return kindless, err
}
