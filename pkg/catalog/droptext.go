package catalog

import "slices"

// withoutText decodes the object that m identifies and keeps nothing of its text; see
// [Options.DropText].
func (o *outliner) withoutText(m *Meta, text []byte, see func(*Bundle)) (decoded, error) {
	m.Schema, m.Package, m.Name = o.shared(m.Schema), o.shared(m.Package), o.shared(m.Name)
	whole := *m
	whole.Raw = text
	content, err := o.decode(&whole)
	if err != nil {
		return decoded{}, err
	}
	content.meta = m
	switch {
	case content.channel != nil:
		content.channel.Meta = m
	case content.deprecations != nil:
		content.deprecations.Meta = m
	case content.bundle != nil:
		b := content.bundle
		see(b)
		b.Meta = m
		b.Properties, b.RelatedImages = slices.Clone(b.Properties), slices.Clone(b.RelatedImages) // without unused capacity
		for i, p := range b.Properties {
			b.Properties[i].Value = nil
			if isNeeded(p.Type) {
				b.Properties[i].Value = o.value(p.Value)
			}
		}
	}
	return content, nil
}
