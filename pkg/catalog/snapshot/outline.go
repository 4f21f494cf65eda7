package snapshot

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// outlined converts outlines to objects from which catalog.Outline makes them again.
func outlined(packages []*catalog.Package) []*catalog.Meta {
	var metas []*catalog.Meta
	add := func(m *catalog.Meta, text object) {
		complete := *m
		complete.Raw = text
		complete.Raw = append(complete.Raw, '}')
		metas = append(metas, &complete)
	}
	for _, p := range packages {
		for _, m := range p.Metas {
			add(m, newObject(m).text("defaultChannel", p.DefaultChannel))
		}
		for _, c := range p.Channels {
			add(c.Meta, newObject(c.Meta).list("entries", len(c.Entries), func(o object, i int) object {
				e := c.Entries[i]
				o = append(o, '{').text("name", e.Name)
				o = o.text("replaces", e.Replaces).text("skipRange", e.SkipRange)
				if e.Skips != nil {
					o = o.list("skips", len(e.Skips), func(o object, i int) object { return o.quote(e.Skips[i]) })
				}
				return append(o, '}')
			}))
		}
		for _, b := range p.Bundles {
			add(b.Meta, newObject(b.Meta).list("properties", len(b.Properties), func(o object, i int) object {
				o = append(o, '{').text("type", b.Properties[i].Type)
				if value := b.Properties[i].Value; value != nil {
					o = append(o.member("value"), value...)
				}
				return append(o, '}')
			}))
		}
	}
	return metas
}

// An object is the text of a JSON object, without the closing bracket.
type object []byte

func newObject(m *catalog.Meta) object {
	o := object{'{'}.text("schema", m.Schema).text("name", m.Name)
	if m.Schema != catalog.SchemaPackage {
		o = o.text("package", m.Package)
	}
	return o
}

// text adds a string member, unless it is empty.
func (o object) text(name, value string) object {
	if value == "" {
		return o
	}
	return o.member(name).quote(value)
}

// list adds a list member with n elements.
func (o object) list(name string, n int, element func(o object, i int) object) object {
	o = append(o.member(name), '[')
	for i := range n {
		if i > 0 {
			o = append(o, ',')
		}
		o = element(o, i)
	}
	return append(o, ']')
}

func (o object) member(name string) object {
	if o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	return append(o.quote(name), ':')
}

func (o object) quote(text string) object {
	// The only possible error is invalid UTF-8, which no string of a catalog contains.
	quoted, _ := jsontext.AppendQuote([]byte(o), text)
	return quoted
}
