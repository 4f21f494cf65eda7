// Package author makes objects of file-based catalogs.
//
// Package makes an olm.package from the description and the icon of a maintainer. Deprecate marks a package,
// a channel or a bundle as deprecated, or removes the mark; it returns the one object that changes, and
// writes no file.
//
// The objects are in the format of OLM (operator-registry, alpha/declcfg and alpha/action/init), and the
// input is checked as OLM checks it.
package author

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A PackageText describes a new package.
type PackageText struct {
	Name           string // a DNS label
	DefaultChannel string
	Description    string // usually Markdown; may be empty
	Icon           []byte // SVG, PNG, JPEG or GIF; may be empty
}

// maxDNSLabel is the maximum length of a package's name (RFC 1123).
const maxDNSLabel = 63

var dnsLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) })

// Package makes an olm.package object.
func Package(text PackageText) (*catalog.Meta, error) {
	switch {
	case !dnsLabel().MatchString(text.Name) || len(text.Name) > maxDNSLabel:
		return nil, fmt.Errorf("package name %q: use up to %d lower-case letters, digits and dashes", text.Name, maxDNSLabel)
	case text.DefaultChannel == "":
		return nil, fmt.Errorf("package %q: the default channel is missing", text.Name)
	case !utf8.ValidString(text.Description):
		return nil, fmt.Errorf("package %q: the description is not UTF-8 text", text.Name)
	}
	type icon struct {
		Data      string `json:"base64data"`
		MediaType string `json:"mediatype"`
	}
	object := struct {
		Schema         string `json:"schema"`
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Icon           *icon  `json:"icon,omitempty"`
		Description    string `json:"description,omitempty"`
	}{Schema: catalog.SchemaPackage, Name: text.Name, DefaultChannel: text.DefaultChannel, Description: text.Description}
	if len(text.Icon) > 0 {
		mediaType, err := pictureType(text.Icon)
		if err != nil {
			return nil, fmt.Errorf("package %q: the icon: %w", text.Name, err)
		}
		object.Icon = &icon{base64.StdEncoding.EncodeToString(text.Icon), mediaType}
	}
	raw, err := catalog.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("writing package %q: %w", text.Name, err)
	}
	return &catalog.Meta{Schema: catalog.SchemaPackage, Package: text.Name, Name: text.Name, Raw: raw}, nil
}

var errPicture = errors.New("not an SVG, PNG, JPEG or GIF image")

// pictureType returns the media type of an image, by its first bytes.
func pictureType(data []byte) (string, error) {
	for magic, mediaType := range map[string]string{
		"\x89PNG\r\n\x1a\n": "image/png", "\xff\xd8\xff": "image/jpeg", "GIF87a": "image/gif", "GIF89a": "image/gif",
	} {
		if strings.HasPrefix(string(data[:min(len(data), len(magic))]), magic) {
			return mediaType, nil
		}
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		switch t, err := dec.Token(); t := t.(type) {
		case nil:
			if errors.Is(err, io.EOF) {
				return "", errPicture // plain text
			}
			return "", fmt.Errorf("%w: %w", errPicture, err)
		case xml.StartElement:
			if t.Name.Local != "svg" {
				return "", errPicture
			}
			return "image/svg+xml", nil
		}
	}
}
