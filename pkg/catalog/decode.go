package catalog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
)

// propertyPackage is the type of the property that contains a bundle's version.
const propertyPackage = "olm.package"

// A decoder reads the members of OLM's objects that the model has. Like Go's encoding/json in OLM,
// it matches names in any case, treats null as empty and ignores unknown members. A duplicate
// member is an error.
type decoder struct {
	object, inner, list, innerList scanner
	// names, if not nil, has the strings of the objects so far, so that a repeated string needs no
	// memory.
	names map[string]string
}

// A decoded is an object with its decoded text: at most one of the other fields is set, none for a
// schema that OLM does not know.
type decoded struct {
	meta           *Meta
	defaultChannel string
	channel        *Channel
	bundle         *Bundle
	deprecations   *Deprecations
}

// decode reads the members of an object.
func (d *decoder) decode(m *Meta) (decoded, error) {
	switch m.Schema {
	case SchemaPackage:
		channel, err := d.defaultChannel(m)
		return decoded{meta: m, defaultChannel: channel}, err
	case SchemaChannel:
		c := &Channel{Meta: m, Package: m.Package, Name: m.Name}
		return decoded{meta: m, channel: c}, fields(&d.object, m.Raw,
			field{"entries", func(value []byte) error {
				return eachElement(&d.list, value, func(entry []byte) error {
					e, err := d.entry(entry)
					c.Entries = append(c.Entries, e)
					return err
				})
			}},
			field{"properties", d.properties(nil)},
		)
	case SchemaBundle:
		b, err := d.bundle(m)
		return decoded{meta: m, bundle: b}, err
	case SchemaDeprecations:
		dep := &Deprecations{Meta: m, Package: m.Package}
		return decoded{meta: m, deprecations: dep}, fields(&d.object, m.Raw,
			field{"entries", func(value []byte) error {
				return eachElement(&d.list, value, func(entry []byte) error {
					e, err := d.deprecation(entry)
					dep.Entries = append(dep.Entries, e)
					return err
				})
			}},
		)
	}
	return decoded{meta: m}, nil
}

// defaultChannel also checks the members that only others use, because OLM decodes them too.
func (d *decoder) defaultChannel(m *Meta) (channel string, err error) {
	err = fields(&d.object, m.Raw,
		field{"defaultChannel", d.into(&channel)},
		field{"description", checkString},
		field{"icon", func(value []byte) error {
			return fields(&d.inner, value,
				field{"base64data", checkBase64},
				field{"mediatype", checkString},
			)
		}},
		field{"properties", d.properties(nil)},
	)
	return channel, err
}

func (d *decoder) entry(text []byte) (e Entry, err error) {
	err = fields(&d.inner, text,
		field{"name", d.into(&e.Name)},
		field{"replaces", d.into(&e.Replaces)},
		field{"skipRange", d.into(&e.SkipRange)},
		field{"skips", func(value []byte) error {
			return eachElement(&d.innerList, value, func(skip []byte) error {
				var name string
				err := d.into(&name)(skip)
				e.Skips = append(e.Skips, name)
				return err
			})
		}},
	)
	return e, err
}

func (d *decoder) deprecation(text []byte) (e Deprecation, err error) {
	err = fields(&d.inner, text,
		field{"message", d.into(&e.Message)},
		field{"reference", func(value []byte) error {
			return fields(&d.innerList, value,
				field{"schema", d.into(&e.Schema)},
				field{"name", d.into(&e.Name)},
			)
		}},
	)
	return e, err
}

func (d *decoder) bundle(m *Meta) (*Bundle, error) {
	b := &Bundle{Meta: m, Package: m.Package, Name: m.Name}
	err := fields(&d.object, m.Raw,
		field{"image", d.into(&b.Image)},
		field{"properties", d.properties(&b.Properties)},
		field{"relatedImages", func(value []byte) error {
			return eachElement(&d.list, value, func(text []byte) error {
				var r RelatedImage
				err := fields(&d.inner, text,
					field{"name", d.into(&r.Name)},
					field{"image", d.into(&r.Image)},
				)
				b.RelatedImages = append(b.RelatedImages, r)
				return err
			})
		}},
	)
	if err == nil {
		b.Version, b.Release, b.VersionErr = d.version(b)
	}
	return b, err
}

// properties appends a list of properties to all, unless that is nil.
func (d *decoder) properties(all *[]Property) func([]byte) error {
	return func(value []byte) error {
		return eachElement(&d.list, value, func(text []byte) error {
			var p Property
			err := fields(&d.inner, text,
				field{"type", d.into(&p.Type)},
				field{"value", func(value []byte) error { p.Value = value; return nil }},
			)
			if all != nil {
				*all = append(*all, p)
			}
			return err
		})
	}
}

// version returns the version and release of the bundle's single olm.package property.
func (d *decoder) version(b *Bundle) (v semver.Version, release string, err error) {
	var value []byte
	found := 0
	for _, p := range b.Properties {
		if p.Type == propertyPackage {
			value = p.Value
			found++
		}
	}
	if found != 1 {
		return v, "", fmt.Errorf("exactly one %s property is required, found %d", propertyPackage, found)
	}
	var text string
	if err := fields(&d.inner, value,
		field{"version", d.into(&text)},
		field{"release", d.into(&release)},
	); err != nil {
		return v, "", fmt.Errorf("the %s property: %w", propertyPackage, err)
	}
	v, err = semver.Parse(text)
	if err != nil {
		return v, release, fmt.Errorf("parsing version %q: %w", text, err)
	}
	return v, release, nil
}

// A field is a member of the model with the function that stores its value.
type field struct {
	name string
	set  func(value []byte) error
}

// fields passes the value of each known member of an object to its field. The text null has no
// members.
func fields(s *scanner, text []byte, known ...field) error {
	if string(text) == "null" {
		return nil
	}
	members, err := s.skimMembers(text)
	if err != nil {
		return err
	}
	for _, f := range known {
		seen := false
		for _, m := range members {
			if !strings.EqualFold(m.name, f.name) {
				continue
			}
			if seen {
				return fmt.Errorf("duplicate member %q; keep one", m.name)
			}
			seen = true
			if err := f.set(text[m.start:m.end:m.end]); err != nil {
				return withPath(m.name, err)
			}
		}
	}
	return nil
}

// eachElement calls f with each element of a list. The text null has no elements.
func eachElement(s *scanner, text []byte, f func(element []byte) error) error {
	if string(text) == "null" {
		return nil
	}
	spans, err := s.skimElements(text)
	if err != nil {
		return err
	}
	for i, e := range spans {
		if err := f(text[e.start:e.end:e.end]); err != nil {
			return withPath(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

// into returns a function that stores a JSON string; null is the empty string.
func (d *decoder) into(field *string) func([]byte) error {
	return func(value []byte) error {
		if err := checkString(value); err != nil {
			return err
		}
		*field = d.text(value)
		return nil
	}
}

// checkString returns an error unless the value is a JSON string or null.
func checkString(value []byte) error {
	if len(value) == 0 || value[0] != '"' && string(value) != "null" {
		return fmt.Errorf("must be a string, not %s", abridged(value))
	}
	return nil
}

// checkBase64 returns an error unless the value is a base64 string or null.
func checkBase64(value []byte) error {
	if err := checkString(value); err != nil {
		return err
	}
	text, _ := asString(value)
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return errors.New("not valid base64")
	}
	return nil
}

// text returns the string of a JSON value, "" if it is not a string.
func (d *decoder) text(value []byte) string {
	if d.names == nil {
		text, _ := asString(value)
		return text
	}
	known, ok := d.names[string(value)]
	if !ok {
		known, _ = asString(value)
		d.names[string(value)] = known
	}
	return known
}

// A pathError is an error with the path of the value that it is about.
type pathError struct {
	path string
	err  error
}

func withPath(name string, err error) error {
	if p := (*pathError)(nil); errors.As(err, &p) {
		if !strings.HasPrefix(p.path, "[") {
			name += "."
		}
		return &pathError{name + p.path, p.err}
	}
	return &pathError{name, err}
}

func (p *pathError) Error() string { return p.path + ": " + p.err.Error() }
func (p *pathError) Unwrap() error { return p.err }
