package policy

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
)

// maxKey is the largest file of keys or certificates, in bytes.
const maxKey = 1 << 20

// rawSigstore is a sigstoreSigned requirement as written.
type rawSigstore struct {
	Type       string         `json:"type"`
	Path       *string        `json:"keyPath"`
	Paths      []string       `json:"keyPaths"`
	Data       []byte         `json:"keyData"`
	Datas      [][]byte       `json:"keyDatas"`
	Fulcio     *rawFulcio     `json:"fulcio"`
	PKI        *rawPKI        `json:"pki"`
	RekorPath  *string        `json:"rekorPublicKeyPath"`
	RekorPaths []string       `json:"rekorPublicKeyPaths"`
	RekorData  []byte         `json:"rekorPublicKeyData"`
	RekorDatas [][]byte       `json:"rekorPublicKeyDatas"`
	Identity   jsontext.Value `json:"signedIdentity"`
}

type rawFulcio struct {
	Path   *string `json:"caPath"`
	Data   []byte  `json:"caData"`
	Issuer string  `json:"oidcIssuer"`
	Email  string  `json:"subjectEmail"`
}

type rawPKI struct {
	RootsPath         *string `json:"caRootsPath"`
	RootsData         []byte  `json:"caRootsData"`
	IntermediatesPath *string `json:"caIntermediatesPath"`
	IntermediatesData []byte  `json:"caIntermediatesData"`
	Email             string  `json:"subjectEmail"`
	Hostname          string  `json:"subjectHostname"`
}

// A source is where keys or certificates are read from.
type source struct {
	member string // what the names of the members begin with
	all    []material
}

// A material is a file, or the data itself.
type material struct {
	path string
	data []byte
}

// newSource returns the source that the members say. More than one member is an error.
func newSource(member string, path *string, paths []string, data []byte, datas [][]byte) (source, error) {
	s := source{member: member}
	given := 0
	if path != nil {
		given, s.all = given+1, append(s.all, material{path: *path})
	}
	if paths != nil {
		given++
		for _, p := range paths {
			s.all = append(s.all, material{path: p})
		}
	}
	if data != nil {
		given, s.all = given+1, append(s.all, material{data: data})
	}
	if datas != nil {
		given++
		for _, d := range datas {
			s.all = append(s.all, material{data: d})
		}
	}
	if given > 1 {
		return s, fmt.Errorf("only one of %[1]sPath, %[1]sPaths, %[1]sData and %[1]sDatas is possible", member)
	}
	if given == 1 && len(s.all) == 0 {
		return s, fmt.Errorf("%[1]sPaths or %[1]sDatas is empty", member)
	}
	for _, m := range s.all {
		if m.path == "" && len(m.data) == 0 {
			return s, fmt.Errorf("%[1]sPath or %[1]sData is empty", member)
		}
	}
	return s, nil
}

// name returns what item i is called in messages.
func (s source) name(i int) string {
	return cmp.Or(s.all[i].path, s.member+"Data")
}

// named adds the name of item i to an error.
func (s source) named(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name(i), err)
}

// load reads everything from a source.
func (p *parser) load(s source) ([][]byte, error) {
	var all [][]byte
	for i, m := range s.all {
		text := m.data
		if m.path != "" {
			var err error
			if text, err = p.read(filepath.FromSlash(m.path)); err != nil {
				return nil, s.named(i, err)
			}
			_, _ = p.sum.Write(text) // a hash does not fail
		}
		if len(text) > maxKey {
			return nil, s.named(i, fmt.Errorf("more than %d bytes", maxKey))
		}
		all = append(all, text)
	}
	return all, nil
}
